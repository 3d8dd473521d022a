#pragma once
// Names and numbers of an operator's results: functions refer to results by name, graphs by number.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// A named result that stands for `count` tensors.
struct OutputArgument {
  std::string name;
  std::int64_t count = 1;
};

/// The results of an operator that has several; empty where there is one.
std::vector<OutputArgument> output_arguments(const ImportNode& node);

/// How many of a node's results become outputs where nothing reads it.
std::int64_t shown_outputs(const ImportNode& node);

} // namespace lanner::tensorflow
