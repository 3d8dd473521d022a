#pragma once
// Colours of what is drawn.

#include <cstdint>

namespace lanner {

struct Color {
  float red = 0, green = 0, blue = 0; ///< 0..255.
  friend bool operator==(const Color&, const Color&) = default;
};

inline constexpr Color white{255, 255, 255}, ink{18, 22, 28};

/// A colour for a class: far from its neighbours', also for the colour-blind.
Color class_color(std::int64_t number);
/// 0..1, by BT.709's weights.
float luminance(Color color);
/// What letters on that colour are legible in.
Color letters_on(Color color);

} // namespace lanner
