#pragma once
// Colour maps.

#include <array>
#include <cstdint>
#include <string_view>

namespace lanner {

/// Colours for 0 to 1 in even steps.
using ColorMap = std::array<std::array<std::uint8_t, 3>, 256>;
/// `magma` (also of an empty name), `viridis`, `turbo` or `gray`. Throws Error{invalid_argument} with the
/// known names.
const ColorMap& color_map(std::string_view name);

} // namespace lanner
