#pragma once
// What the instructions of elementwise programs do.

#include <cstddef>
#include <cstdint>

namespace lanner {

/// Truth values are 0 and 1. `p` and `q` are the instruction's numbers.
enum class Opcode : std::uint8_t {
  move,
  negate,
  absolute,
  reciprocal,
  square_root,
  exponential,
  logarithm,
  logistic,
  hyperbolic_tangent,
  error_function,
  floor,
  ceiling,
  nearest,
  sign,
  relu,
  leaky_relu /* slope p */,
  elu /* p */,
  celu /* p */,
  selu /* alpha p, gamma q */,
  softplus,
  softsign,
  gelu,
  gelu_by_tanh,
  hard_sigmoid /* p x + q */,
  hard_swish,
  swish /* p */,
  mish,
  threshold /* x > p */,
  shrink /* bias p, bound q */,
  clip /* p to q */,
  linear /* p x + q */,
  power /* x^p */,
  logical_not,
  is_nan,
  truth /* x != 0 */,
  sine,
  cosine,
  tangent,
  arc_sine,
  arc_cosine,
  arc_tangent,
  hyperbolic_sine,
  hyperbolic_cosine,
  area_sine,
  area_cosine,
  area_tangent,
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  raise /* x^y */,
  parametric_relu,
  equal,
  less,
  less_or_equal,
  logical_and,
  logical_or,
  logical_xor,
  choose /* x ? y : z */,
  clamp /* x to [y, z] */,
};
inline constexpr std::size_t opcode_count = static_cast<std::size_t>(Opcode::clamp) + 1;

struct Numbers {
  float p = 0, q = 0;
};

} // namespace lanner
