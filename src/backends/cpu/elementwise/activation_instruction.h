#pragma once
// Steps of an epilogue as instructions.

#include "backends/elementwise/opcode.h"
#include "backends/epilogue.h"

namespace lanner {

struct ActivationInstruction {
  Opcode opcode;
  Numbers numbers;
};
ActivationInstruction instruction_of(const Activation& activation);
Opcode instruction_of(BinaryKind kind);

} // namespace lanner
