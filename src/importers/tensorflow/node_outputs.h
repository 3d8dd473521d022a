#pragma once
// Names, numbers and types of an operator's results: functions refer to results by name, graphs by number.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// A named result that stands for `count` tensors.
struct OutputArgument {
  std::string name;
  std::int64_t count = 1;
  /// TensorFlow's number of the type of each tensor; nothing where the node does not say.
  std::vector<std::optional<std::int64_t>> types = {};
};

/// The attribute of a node whose operator has no rule: its results as the model's own list of operators has
/// them, each as text. `name*count=type`: a number of tensors and their type; `name@types`: a list of types.
/// Each of `count`, `type` and `types` is an attribute, `type` also a type's number; `|9` a type without it.
inline constexpr const char* results_attribute = "_lanner_results";

/// The results of a node; empty where its operator is not known.
std::vector<OutputArgument> output_arguments(const ImportNode& node);

/// Whether the results of an operator are known without the model's list of operators.
bool knows_results(std::string_view op);

/// TensorFlow's number of the type of result `i`; nothing where it cannot be had. For operators that are not
/// known the attributes that usually have it are read.
std::optional<std::int64_t> output_type(const ImportNode& node, std::size_t i);

/// How many of a node's results become outputs where nothing reads it.
std::int64_t shown_outputs(const ImportNode& node);

} // namespace lanner::tensorflow
