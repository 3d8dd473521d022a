#pragma once
// The window of convolutions and pools, as several backends read it.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/convolution/window.h"

namespace lanner {

/// The window of a `conv` or a pool from `input` to `output`, both N, C, spatial... `kernel` is its spatial
/// size.
ops::Window window_of(const AttributeMap& attributes, const Shape& input, const Shape& output,
                      std::span<const std::int64_t> kernel);

/// Padding at the end of each axis that the output's size requires: with ceil_mode possibly more than the
/// attributes', and less where a stride skips the last elements.
std::vector<std::int64_t> end_padding(const ops::Window& window);

} // namespace lanner
