#pragma once
// What a build found out about its precision, in the metadata of its graph, and so in plans.

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lanner {

inline constexpr std::string_view precision_key = "lanner.precision"; ///< A JSON object with `notes`.

/// The lines in the graph's metadata, for `explain`; none where they are damaged, as a file may be.
std::vector<std::string> precision_notes(const Graph& graph);

} // namespace lanner
