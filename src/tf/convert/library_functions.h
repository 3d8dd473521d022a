#pragma once
// Functions of a model's library, as they are written again.

#include <set>
#include <string>
#include <string_view>

#include "importers/tensorflow/source_library.h"
#include "tf/write/graph_def.h"

namespace lanner::tf {

/// Adds a function and those that it calls to a graph, once each. Throws Error{unsupported} where the model
/// is text, whose functions cannot be written again, Error{bad_data} where there is no such function.
void add_functions(const tensorflow::SourceLibrary& library, std::string_view name,
                   std::set<std::string, std::less<>>& added, GraphRecord& graph);

} // namespace lanner::tf
