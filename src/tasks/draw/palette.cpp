#include "tasks/draw/palette.h"

#include <cmath>
#include <iterator>
#include <numbers>

namespace lanner {
namespace {

// Okabe and Ito's colours for colour-blind readers ("Color Universal Design", 2008), the bright ones first.
constexpr Color first_colors[] = {{86, 180, 233}, {230, 159, 0},   {0, 158, 115}, {240, 228, 66},
                                  {213, 94, 0},   {204, 121, 167}, {0, 114, 178}};
constexpr float golden_angle = 2.39996f;

} // namespace

Color class_color(std::int64_t number) {
  constexpr auto count = static_cast<std::int64_t>(std::size(first_colors));
  if (number >= 0 && number < count) return first_colors[number];
  // Further classes step round the hue circle by the golden angle, so that neighbouring classes differ most.
  const float hue = static_cast<float>(number % 1000) * golden_angle;
  const auto part = [&](float shift) {
    return std::round(140 + 105 * std::cos(hue + shift * 2 * std::numbers::pi_v<float> / 3));
  };
  return {part(0), part(1), part(2)};
}

float luminance(Color color) {
  return (0.2126f * color.red + 0.7152f * color.green + 0.0722f * color.blue) / 255;
}

Color letters_on(Color color) {
  return luminance(color) > 0.45f ? ink : white;
}

} // namespace lanner
