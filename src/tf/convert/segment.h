#pragma once
// The native segment of an engine: a function of the graph's library, as the last releases of TF-TRT wrote
// it, or a GraphDef.

#include <set>
#include <string>

#include "tf/convert/division.h"
#include "tf/write/graph_def.h"

namespace lanner::tf {

/// Adds the function `<engine>_native_segment`, and those that it calls, which `added` has by name, to a
/// graph. Returns its name.
std::string add_segment_function(const Division& division, const PartPlan& plan, const Limits& limits,
                                 std::set<std::string, std::less<>>& added, GraphRecord& graph);

/// The segment as the bytes of a GraphDef, between placeholders and Identity nodes named after the bindings.
std::string segment_bytes(const Division& division, const PartPlan& plan, const Limits& limits);

} // namespace lanner::tf
