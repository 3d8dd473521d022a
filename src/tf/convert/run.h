#pragma once
// Runs the parts of a converted model one after the other.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tf/convert/model_state.h"

namespace lanner::tf {

using Items = std::map<std::string, Item>;

/// Throws Error{invalid_argument} unless there is a value for each input of the graph, and no other.
void check_inputs(const ImportGraph& graph, const Items& inputs);

/// Results of a part by their bindings, of its inputs by theirs.
using PartRun = std::function<Items(std::size_t part, const Items& inputs)>;
Items run_parts(const Division& division, const Items& inputs, const PartRun& run);

/// One caller's contexts. Used by one thread at a time; the model must outlive it.
class ModelRun {
public:
  ModelRun(const ModelState& model, int threads);
  Items operator()(const Items& inputs, const Control& control);
  /// As Model::build.
  void build(std::span<const Items> inputs, const Control& control);

private:
  Items run_engine(std::size_t part, const Items& inputs, const Control& control, bool ahead);
  Items run_natively(std::size_t part, const Items& inputs, const Control& control, bool keep = true);

  const ModelState& model_;
  int threads_;
  std::vector<std::optional<Context>> natives_; ///< By part; for a part with engines made when needed.
  std::vector<PartShapes> shapes_;              ///< By part: of the inputs of the last run.
};

} // namespace lanner::tf
