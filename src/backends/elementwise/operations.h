#pragma once
// Maps operators to formulas.

#include <optional>
#include <vector>

#include "backends/group.h"
#include "ops/elementwise/formula.h"

namespace lanner {

/// One operator as one instruction: a formula, its constants, and the indices of the operation's inputs that
/// are its operands, in order.
struct Translation {
  const Formula* formula;
  Numbers numbers;
  std::vector<std::size_t> operands;
};
/// Nothing when there is none. Variadic operators with more than two inputs are left to the caller.
std::optional<Translation> translate(const GroupOp& op);
/// For `sum`, `mean`, `min` and `max` of any number of inputs: the formula that combines two of them; else
/// null.
const Formula* translate_variadic(const GroupOp& op);

} // namespace lanner
