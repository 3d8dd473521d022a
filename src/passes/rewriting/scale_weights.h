#pragma once
// Folds per-channel scale and shift of a value into the weights that compute it.

#include <optional>

#include "graph/graph.h"
#include "passes/rewriting/constant_math.h"

namespace lanner::passes {

/// The channel axis and number of channels, where `value` is computed by a convolution or product whose
/// constant weights have no other use and can take a scale.
struct Channels {
  Node* anchor = nullptr; ///< The convolution or product.
  std::size_t axis = 0;
  std::size_t count = 0;
};
std::optional<Channels> scalable_channels(const Value* value);

/// `value` becomes scale * value + shift: f64 constants of `math` before the anchor, one number per channel;
/// null: 1 and 0. Computed in double and rounded once. False, with nothing changed, where the element type
/// cannot hold the result or a term is so large that it is there to round (magnitude.h).
bool scale_channels(ConstantMath& math, Value* value, Value* scale, Value* shift);

/// One number for each channel, f64, when `value` is a constant that broadcasts over `type` along `axis`
/// only; else null.
Value* per_channel(ConstantMath& math, Value* value, const Type& type, std::size_t axis, std::size_t count);

} // namespace lanner::passes
