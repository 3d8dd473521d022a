#pragma once
// The kernel of convolutions and products of bytes: as products of matrices, whose rows are gathered.

#include <memory>
#include <vector>

#include "backends/family.h"
#include "backends/quantized/contraction.h"
#include "backends/quantized/int8_block.h"

namespace lanner {

/// How a contraction's weights lie for a set of functions.
struct PanelForm {
  Layout layout;       ///< That the tactic requires; row-major where the kernel makes a copy of its own.
  bool copied = false; ///< Whether it does: where a step would take numbers of several taps or groups.
};
PanelForm panel_form(const Contraction& contraction, const Int8Functions& functions);

/// Why this contraction cannot be computed by these functions; empty where it can.
std::string int8_refusal(const Contraction& contraction, const Int8Functions& functions);

/// A tactic with these functions, without an estimate. Nothing where one input would need two storages.
std::optional<Tactic> int8_tactic(const Node& node, const Contraction& contraction,
                                  const Int8Functions& functions, std::string_view kernel);

/// Tactics with this processor's best functions.
TacticList int8_tactics(const Node& node, const Group& group, const Target& target, bool conv,
                        std::string_view kernel);
std::unique_ptr<Kernel> int8_prepare(const Preparation& preparation, bool conv);

/// The elements of a contraction's constant operand at prepare().
const Tensor* prepared_constant(const Operand& operand, const Preparation& preparation);

/// Distance in elements between neighbouring rows of an input or result with so many columns, which may be
/// within a larger one.
std::int64_t row_distance(const Storage& storage, std::int64_t columns);

} // namespace lanner
