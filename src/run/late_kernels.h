#pragma once
// Runs nodes of data-dependent size by late kernels on a GPU.

#include <optional>
#include <span>
#include <vector>

#include <lanner/item.h>

#include "program/program.h"
#include "run/transfers.h"

namespace lanner {

/// Moves elements, or computes them where some are on the program's device (ops/movement/movement_rules.h),
/// by kernels that are ready in microseconds once sizes are known: nothing is compiled, searched or timed.
/// Operands are copied to the program's device, control operands to the host. Nothing where no such kernel
/// supports the node, or where it does not pay.
std::optional<std::vector<Item>> run_late(const Program& program, const Node& node,
                                          std::span<const Item* const> operands, const Transfers& transfers);

} // namespace lanner
