#pragma once
// Puts scale and shift of a value's channels into the weights that make it.

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// The axis of channels and their number, where `value` is made by a convolution or product with constant
/// weights that nothing else reads and that could take a scale.
struct Channels {
  std::size_t axis = 0;
  std::size_t count = 0;
};
std::optional<Channels> scalable_channels(const Value* value);

/// `value` becomes scale * value + shift (one number a channel; an empty span: 1 and 0), computed in double
/// and rounded once. False, and nothing happened, where the element type does not hold the result or
/// a term is so large that it is there to round (magnitude.h).
bool scale_channels(Value* value, std::span<const double> scale, std::span<const double> shift);

/// One number for each channel when `value` is a constant that spreads over `type` along `axis` only.
std::optional<std::vector<double>> per_channel(const Value* value, const Type& type, std::size_t axis,
                                               std::size_t count);

} // namespace lanner::passes
