#pragma once
// Alternatives that no backend offers.

#include <vector>

#include "lower/propose/alternatives.h"

namespace lanner {

/// All values row-major on the host; `how` is the name in place of a backend's.
Alternative without_kernel(const Node& node, const char* how);
/// By the programs of its regions, which were lowered. Values are in plain memory on the device of the
/// regions; those that control the iterations are on the host.
Alternative by_regions(const Node& node);
/// By its definition on the host; values that are only passed on may stay on the device.
std::vector<Alternative> by_definition(const Node& node, const Target& target);
/// As a view of its input, on the host and on the target's device; none where it is no view.
std::vector<Alternative> aliases(const Node& node, const Target& target);

} // namespace lanner
