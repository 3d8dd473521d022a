#pragma once
// The values of a model's variables, which are in a checkpoint beside it.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <lanner/tensor.h>

#include "importers/tensorflow/bundle/bundle.h"
#include "importers/tensorflow/graph_record.h"

namespace lanner::tensorflow {

/// Where a checkpoint has a variable.
struct VariableSource {
  std::string key;
  std::string slice; ///< TensorFlow's text of a part, like `4 10 0,2:-`; empty: the whole tensor.
};

/// Which tensor of the checkpoint each variable is restored from, by the variable's node: as the graph's own
/// restoring nodes say it (RestoreV2 to Assign or AssignVariableOp, in the graph or in a function).
std::map<std::string, VariableSource, std::less<>> restored_variables(const GraphRecord& graph);

/// Reads variables; the checkpoint is opened when the first is read.
class Variables {
public:
  using OnFile = std::function<void(const std::filesystem::path&)>;

  /// `prefix` is the checkpoint's path without `.index`; empty where the model's folder is not known.
  Variables(const GraphRecord& graph, std::filesystem::path prefix, const Limits& limits, OnFile on_file);

  /// The value of a variable's node (VarHandleOp, VariableV2), of the type and shape that the node declares.
  /// Throws Error{not_found, bad_data, unsupported}.
  Tensor read(const ImportNode& variable);

private:
  const VariableSource source_of(const ImportNode& variable);
  const Bundle& bundle();

  std::map<std::string, VariableSource, std::less<>> restored_;
  std::map<std::string, std::string, std::less<>> by_full_name_; ///< Keys, as the object graph has them.
  std::filesystem::path prefix_;
  Limits limits_;
  OnFile on_file_;
  std::optional<Bundle> bundle_;
};

} // namespace lanner::tensorflow
