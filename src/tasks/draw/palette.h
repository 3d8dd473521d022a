#pragma once
// Colours of drawings.

#include <cstdint>

namespace lanner {

struct Color {
  float red = 0, green = 0, blue = 0; ///< 0..255.
  friend bool operator==(const Color&, const Color&) = default;
};

inline constexpr Color white{255, 255, 255}, ink{18, 22, 28};

/// A class's colour: distinct from its neighbours', also for colour-blind readers.
Color class_color(std::int64_t number);
/// Luminance 0..1, by BT.709's weights.
float luminance(Color color);
/// A colour in which letters on that background are legible.
Color letters_on(Color color);

} // namespace lanner
