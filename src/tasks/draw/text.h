#pragma once
// Lines of text: strokes for ASCII, glyphs of font files for other characters.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/preprocess.h>

#include "tasks/draw/fonts.h"
#include "tasks/draw/strokes.h"

namespace lanner {

/// A line in pixels, from x = 0; y = 0 is the top of a capital.
struct TextLine {
  struct Letter {
    std::shared_ptr<const FontGlyph> glyph;
    float x; ///< Of the pen.
  };
  std::vector<Stroke> strokes;
  std::vector<Letter> letters;
  float width = 0;  ///< To the right edge of the last letter.
  float height = 0; ///< Of a capital.
};

/// UTF-8 `text` with capitals `height` pixels high. Pure ASCII is drawn as strokes. A line with other
/// characters uses font files for as many as possible, so that it looks uniform; a character that no font has
/// is an empty box. Text after the first 256 characters is left out.
TextLine lay_out_text(std::string_view text, float height);
TextLine lay_out_text(std::string_view text, float height, FontStack& fonts);
float text_width(std::string_view text, float height);
/// The part of a text that fits into a width, followed by `..` where it is shortened.
std::string fitted_text(std::string_view text, float width, float height);

/// Coverage of each pixel by letters: 0..255, row by row.
struct TextPicture {
  PixelRect place;
  std::vector<std::uint8_t> coverage;
};
/// Draws the line with its first capital's top left at (x, y), clipped to `clip`.
TextPicture draw_text(const TextLine& line, float x, float y, const PixelRect& clip);

} // namespace lanner
