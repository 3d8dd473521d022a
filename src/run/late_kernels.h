#pragma once
// Nodes whose sizes only a run tells, run by kernels of a GPU.

#include <optional>
#include <span>
#include <vector>

#include <lanner/item.h>

#include "program/program.h"
#include "run/transfers.h"

namespace lanner {

/// Moves elements, or computes them where some lie on the program's device (ops/movement/movement_rules.h),
/// by kernels that are made ready in microseconds once sizes are known: nothing is compiled, looked for or
/// timed. Operands of any device are brought to the program's own, those that say what to do to the host.
/// Nothing where no such kernel takes the node, or it is not worth one.
std::optional<std::vector<Item>> run_late(const Program& program, const Node& node,
                                          std::span<const Item* const> operands, const Transfers& transfers);

} // namespace lanner
