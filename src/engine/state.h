#pragma once
// What an Engine shares among its copies and contexts.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <lanner/engine.h>

#include "base/account.h"
#include "base/options.h"
#include "device/team.h"
#include "engine/given_shapes.h"
#include "graph/graph.h"
#include "graph/tactic.h"
#include "lower/lower.h"
#include "plan/packing.h"
#include "plan/program.h"

namespace lanner {

/// A Program for one set of input shapes and one thread count, with what explain tells of it.
struct Specialisation {
  std::shared_ptr<const Program> program;
  std::vector<NodeReport> reports;
  int threads = 1;
};

struct Engine::State {
  /// What the engine holds is charged to `account`; null counts nothing.
  explicit State(const Limits& limits = {}, AccountPtr account = nullptr)
      : limits(limits), account(std::move(account)) {}

  std::unique_ptr<const Graph> graph; ///< Canonical; symbols where sizes are open. A loaded plan's constants
                                      ///< may lie as its kernels read them.
  std::vector<Binding> inputs, outputs;
  Target target;
  double budget = 0; ///< Seconds for tuning a specialisation made later.
  Limits limits;
  AccountPtr account; ///< Of what the engine holds; a context's has this one for its base.
  std::map<std::string, Preprocess, std::less<>> preprocess;
  InputShapes typical;            ///< What the build tuned for.
  std::vector<std::string> notes; ///< What `explain` tells of the whole: why a plan was tuned again.
  std::filesystem::path timing_cache;
  bool retune = false; ///< Seconds in the cache are not looked at.

  /// The specialisation for these shapes, made now if it is new. Thread-safe: one maker at a time.
  /// `tune` measures within the budget; else it takes over what the typical shapes' tuning chose.
  std::shared_ptr<const Specialisation> specialise(const InputShapes& shapes, int threads,
                                                   const Control& control = {}, bool tune = true) const;
  /// Puts a ready one in (a loaded plan's).
  void adopt(const InputShapes& shapes, int threads, Specialisation made) const;
  /// `graph` with all constants row-major, which a plan that runs as it was saved never needs. Thread-safe.
  const Graph& portable() const;
  /// Throws Error{invalid_argument} where the model cannot take this shape of an input, whatever those of the
  /// others are. Thread-safe.
  void check_fits(std::size_t input, const Shape& shape) const;
  PackedConstants& constants() const { return constants_; }
  /// Memory of a packed form of `constant` of equal element type, or null.
  const void* packed_form(const Tensor& constant) const { return constants_.packed_form(constant); }

private:
  TeamsNeeded teams_; ///< Contexts hold this state, so that threads last as long as they.
  std::shared_ptr<const Program> same_kernels(const Graph& lowered, const Target& target) const;
  std::shared_ptr<const Specialisation> like(const InputShapes& shapes, int threads) const;

  struct Key {
    InputShapes shapes;
    int threads;
    bool operator<(const Key& other) const;
  };
  struct Made {
    std::shared_ptr<const Specialisation> specialisation;
    std::uint64_t used = 0; ///< Number of the request that it answered last.
  };
  void keep(Key key, std::shared_ptr<const Specialisation> made) const;

  mutable std::mutex mutex_;
  mutable std::map<Key, Made> made_;
  mutable std::uint64_t requests_ = 0;
  mutable PackedConstants constants_;
  mutable std::mutex fitting_mutex_;
  mutable std::set<std::pair<std::size_t, std::vector<std::int64_t>>> fitting_; ///< Shapes found to fit.
  mutable std::once_flag unpacked_;
  mutable std::unique_ptr<const Graph> portable_; ///< Null where `graph` is so itself.
};

/// Where timings are kept between builds unless the caller says; empty: nowhere.
std::filesystem::path default_timing_cache();

/// What was measured of the machine, where the target may know.
void set_limits(Target& target);

/// Bindings of a graph's inputs or outputs.
std::vector<Binding> input_bindings(const Graph& graph);
std::vector<Binding> output_bindings(const Graph& graph);

/// A copy of `graph` for concrete input shapes, canonical again.
std::unique_ptr<Graph> specialised_graph(const Graph& graph, const InputShapes& shapes, const Limits& limits,
                                         const Control& control = {});

} // namespace lanner
