#pragma once
// Steps of a tail as instructions.

#include "backends/elementwise/opcode.h"
#include "backends/tail.h"

namespace lanner {

struct ActivationInstruction {
  Opcode opcode;
  Numbers numbers;
};
ActivationInstruction instruction_of(const Activation& activation);
Opcode instruction_of(BinaryKind kind);

} // namespace lanner
