#pragma once
// Letters as pen strokes, so that ASCII labels need no font file and are sharp at every size.

#include <vector>

namespace lanner {

/// A straight segment of a pen stroke, in units of which a capital letter is 12 high; y grows downwards from
/// its top.
struct Stroke {
  float x0, y0, x1, y1;
};

/// ASCII from space to tilde.
bool has_strokes(char32_t code);
/// Adds the strokes of a character from x = `left`, an empty box for one that has none, and returns its
/// width.
float draw_strokes(char32_t code, float left, std::vector<Stroke>& strokes);

inline constexpr float cap_height = 12;   ///< Height of a capital letter.
inline constexpr float descent = 4;       ///< Depth of `g` below the baseline.
inline constexpr float letter_gap = 3.2f; ///< Space between letters.

} // namespace lanner
