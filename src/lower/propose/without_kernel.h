#pragma once
// Ways of running a node that no backend offers.

#include <vector>

#include "lower/propose/alternatives.h"

namespace lanner {

/// All values row-major on the host; `how` stands for the backend.
Alternative without_kernel(const Node& node, const char* how);
/// By the programs of its regions, which were lowered. Plain memory is where they run, and on the host what
/// decides how they run.
Alternative by_regions(const Node& node);
/// By its definition: on the host, and what is only handed on may stay where it is.
std::vector<Alternative> by_definition(const Node& node, const Target& target);
/// As a view of its input, on the host and on the target's device; none where it is no view.
std::vector<Alternative> aliases(const Node& node, const Target& target);

} // namespace lanner
