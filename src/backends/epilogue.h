#pragma once
// What a fused group does after its anchor (a convolution, a product): a straight line of elementwise steps.

#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"

namespace lanner {

/// `alpha` and `beta` by kind: leaky_relu and elu: slope; clip: low and high; linear: alpha * x + beta;
/// hard_sigmoid: max(0, min(1, alpha * x + beta)); swish: x * sigmoid(alpha * x).
enum class ActivationKind : std::uint8_t {
  relu,
  leaky_relu,
  clip,
  sigmoid,
  tanh,
  elu,
  hard_sigmoid,
  hard_swish,
  swish,
  gelu_erf,
  gelu_tanh,
  softplus,
  mish,
  abs,
  sqrt,
  exp,
  log,
  linear,
};
struct Activation {
  ActivationKind kind;
  float alpha = 0, beta = 0;
};

enum class BinaryKind : std::uint8_t { add, subtract, multiply, divide, minimum, maximum };
enum class Spread : std::uint8_t { scalar, channel, full };

/// One step: an activation, or, when `binary` is set, `x binary operand`.
struct EpilogueStep {
  std::optional<BinaryKind> binary;
  Activation activation{};
  Operand operand;
  Spread spread = Spread::full;
};
using Epilogue = std::vector<EpilogueStep>;

/// The activation that an operation is, when its parameters are constants; `softsign`-like operations give
/// nothing.
std::optional<Activation> activation_of(const GroupOp& op);

/// How `operand` spreads over `result`; nothing when it is none of the three.
std::optional<Spread> spread_of(const Shape& operand, const Shape& result, std::size_t channel_axis);

/// Operations 1... of `group` as an epilogue of operation 0, whose shape every step keeps. Nothing, with
/// `reason` set, when they are anything else. `channel_axis` is the axis that Spread::channel means.
std::optional<Epilogue> epilogue_of(const Group& group, std::size_t channel_axis, std::string& reason);

} // namespace lanner
