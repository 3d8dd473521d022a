#include "backends/cpu/elementwise/weight.h"

namespace lanner {

namespace {

bool is_light(Opcode opcode) {
  switch (opcode) {
  case Opcode::exponential:
  case Opcode::logarithm:
  case Opcode::logistic:
  case Opcode::hyperbolic_tangent:
  case Opcode::error_function:
  case Opcode::elu:
  case Opcode::celu:
  case Opcode::selu:
  case Opcode::softplus:
  case Opcode::gelu:
  case Opcode::gelu_by_tanh:
  case Opcode::swish:
  case Opcode::mish:
    return false;
  default:
    return true;
  }
}

bool is_library(Opcode opcode) {
  return opcode == Opcode::raise || (opcode >= Opcode::sine && opcode <= Opcode::area_tangent);
}

} // namespace

double nanoseconds_of(const ElementwiseProgram& program) {
  double sum = 0.05;
  for (const TileInstruction& instruction : program.instructions)
    sum += is_library(instruction.opcode) ? 10 : is_light(instruction.opcode) ? 0.04 : 0.5;
  return sum;
}

} // namespace lanner
