#pragma once
// Which instruction an operator is.

#include <optional>
#include <vector>

#include "backends/elementwise/opcode.h"
#include "backends/group.h"

namespace lanner {

/// One operator as one instruction: its opcode, its numbers and which of the operation's inputs are operands,
/// in order.
struct Translation {
  Opcode opcode;
  Numbers numbers;
  std::vector<std::size_t> operands;
};
/// Nothing when there is none. Variadic operators of more than two inputs are left to the caller.
std::optional<Translation> translate(const GroupOp& op);
/// For `sum`, `mean`, `min` and `max` of any number of inputs: the instruction that joins two.
std::optional<Opcode> translate_variadic(const GroupOp& op);

} // namespace lanner
