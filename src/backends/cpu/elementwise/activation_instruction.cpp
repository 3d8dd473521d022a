#include "backends/cpu/elementwise/activation_instruction.h"

namespace lanner {

ActivationInstruction instruction_of(const Activation& a) {
  using K = ActivationKind;
  switch (a.kind) {
  case K::relu:
    return {Opcode::relu, {}};
  case K::leaky_relu:
    return {Opcode::leaky_relu, {a.alpha, 0}};
  case K::clip:
    return {Opcode::clip, {a.alpha, a.beta}};
  case K::sigmoid:
    return {Opcode::logistic, {}};
  case K::tanh:
    return {Opcode::hyperbolic_tangent, {}};
  case K::elu:
    return {Opcode::elu, {a.alpha, 0}};
  case K::hard_sigmoid:
    return {Opcode::hard_sigmoid, {a.alpha, a.beta}};
  case K::hard_swish:
    return {Opcode::hard_swish, {}};
  case K::swish:
    return {Opcode::swish, {a.alpha, 0}};
  case K::gelu_erf:
    return {Opcode::gelu, {}};
  case K::gelu_tanh:
    return {Opcode::gelu_by_tanh, {}};
  case K::softplus:
    return {Opcode::softplus, {}};
  case K::mish:
    return {Opcode::mish, {}};
  case K::abs:
    return {Opcode::absolute, {}};
  case K::sqrt:
    return {Opcode::square_root, {}};
  case K::exp:
    return {Opcode::exponential, {}};
  case K::log:
    return {Opcode::logarithm, {}};
  case K::linear:
    return {Opcode::linear, {a.alpha, a.beta}};
  }
  return {Opcode::move, {}};
}

Opcode instruction_of(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::add:
    return Opcode::add;
  case BinaryKind::subtract:
    return Opcode::subtract;
  case BinaryKind::multiply:
    return Opcode::multiply;
  case BinaryKind::divide:
    return Opcode::divide;
  case BinaryKind::minimum:
    return Opcode::minimum;
  case BinaryKind::maximum:
    return Opcode::maximum;
  }
  return Opcode::add;
}

} // namespace lanner
