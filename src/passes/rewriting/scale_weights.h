#pragma once
// Puts scale and shift of a value's channels into the weights that make it.

#include <optional>

#include "graph/graph.h"
#include "passes/rewriting/constant_math.h"

namespace lanner::passes {

/// The axis of channels and their number, where `value` is made by a convolution or product with constant
/// weights that nothing else reads and that could take a scale.
struct Channels {
  Node* anchor = nullptr; ///< The convolution or product.
  std::size_t axis = 0;
  std::size_t count = 0;
};
std::optional<Channels> scalable_channels(const Value* value);

/// `value` becomes scale * value + shift: constants of `math` before the anchor, f64, one number a channel;
/// null: 1 and 0. Computed in double and rounded once. False, and nothing happened, where the element type
/// does not hold the result or a term is so large that it is there to round (magnitude.h).
bool scale_channels(ConstantMath& math, Value* value, Value* scale, Value* shift);

/// One number for each channel, f64, when `value` is a constant that spreads over `type` along `axis` only;
/// else null.
Value* per_channel(ConstantMath& math, Value* value, const Type& type, std::size_t axis, std::size_t count);

} // namespace lanner::passes
