#pragma once
// What a fused group does after its anchor (a convolution, a product): a straight line of elementwise steps.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/group.h"
#include "ops/elementwise/formula.h"

namespace lanner {

/// A formula of one operand. Backends know it by its name; `clip` is between alpha and beta, `linear` is
/// alpha * x + beta, others have the numbers of the operator's attributes.
struct ActivationCall {
  const Formula* formula = nullptr;
  float alpha = 0, beta = 0;

  bool is(std::string_view name) const { return formula->name == name; }
};

enum class BinaryKind : std::uint8_t { add, subtract, multiply, divide, minimum, maximum };
const Formula& formula_of(BinaryKind kind);
enum class Spread : std::uint8_t { scalar, channel, full };

/// One step: an activation, or, when `binary` is set, `x binary operand`.
struct EpilogueStep {
  std::optional<BinaryKind> binary;
  ActivationCall activation{};
  Operand operand;
  Spread spread = Spread::full;
};
using Epilogue = std::vector<EpilogueStep>;

/// The activation that an operation is, when its parameters are constants: any whose result is a number.
std::optional<ActivationCall> activation_of(const GroupOp& op);

/// How `operand` spreads over `result`; nothing when it is none of the three.
std::optional<Spread> spread_of(const Shape& operand, const Shape& result, std::size_t channel_axis);

/// Operations 1... of `group` as an epilogue of operation 0, whose shape every step keeps. Nothing, with
/// `reason` set, when they are anything else. `channel_axis` is the axis that Spread::channel means.
std::optional<Epilogue> epilogue_of(const Group& group, std::size_t channel_axis, std::string& reason);

} // namespace lanner
