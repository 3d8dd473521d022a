#pragma once
// Letters as pen strokes, so that labels need no font file and are sharp at every size.

#include <string_view>
#include <vector>

namespace lanner::tool {

/// A straight piece of a pen stroke, in units of which a capital letter is 12 high; y grows downwards from
/// its top.
struct Stroke {
  float x0, y0, x1, y1;
};

/// The strokes of a line of UTF-8 text, from x = 0. Characters without a glyph are empty boxes.
struct Lettering {
  std::vector<Stroke> strokes;
  float width = 0; ///< To the right edge of the last letter.
};
Lettering letter(std::string_view text);

inline constexpr float cap_height = 12; ///< Of a capital letter.
inline constexpr float descent = 4;     ///< Of `g` below the line.

} // namespace lanner::tool
