#pragma once
// What a fused group does after its anchor (a convolution, a product): a sequence of elementwise steps.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/byte_scale.h"
#include "backends/group.h"
#include "ops/elementwise/formula.h"

namespace lanner {

/// A formula of one operand, by its name; `clip` is between alpha and beta, `linear` is alpha * x + beta,
/// others use the operator's attributes.
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

/// The activation that an operation computes, when its parameters are finite constants.
std::optional<ActivationCall> activation_of(const GroupOp& op);

/// How `operand` broadcasts to `result`; nothing when it is none of the three.
std::optional<Spread> spread_of(const Shape& operand, const Shape& result, std::size_t channel_axis);

/// Operations 1... of `group` as an epilogue of operation 0, whose shape every step keeps. Otherwise nothing,
/// with `reason` set. `channel_axis` is the axis that Spread::channel means. `rounding`: where to put a
/// rounding to bytes behind the steps; null: none is supported.
std::optional<Epilogue> epilogue_of(const Group& group, std::size_t channel_axis, std::string& reason,
                                    std::optional<ByteRounding>* rounding = nullptr);

} // namespace lanner
