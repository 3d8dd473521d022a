#include "tasks/draw/text.h"

#include <algorithm>
#include <cmath>

#include "base/text/utf8.h"

namespace lanner {
namespace {

constexpr float pen_share = 0.13f; ///< Stroke width relative to the height of a capital.
constexpr std::size_t most_letters = 256;
constexpr float far_off = 1e12f;

/// Characters without a visible form: joiners, writing directions, variation selectors.
bool is_unseen(char32_t code) {
  return (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff;
}

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  while (!text.empty() && characters.size() < most_letters) {
    const Utf8Character next = first_character(text);
    text.remove_prefix(next.bytes);
    const char32_t code = next.valid ? next.code : U'\ufffd';
    if (is_unseen(code)) continue;
    characters += code == U'\t' || code == U'\n' || code == U'\r' || code == 0xa0 ? U' ' : code;
  }
  return characters;
}

TextLine lay_out(const std::u32string& characters, float height, FontStack& fonts) {
  TextLine line;
  line.height = height;
  const float scale = height / cap_height, gap = letter_gap * scale / 2;
  const bool by_font = std::ranges::any_of(characters, [](char32_t code) { return !has_strokes(code); });
  std::vector<Stroke> strokes;
  float pen = 0;
  bool first = true;
  for (const char32_t code : characters) {
    if (auto glyph = by_font ? fonts.glyph(code, height) : nullptr) {
      if (!glyph->coverage.empty()) line.letters.push_back({glyph, pen});
      line.width = pen += glyph->advance;
    } else {
      if (!first) pen += gap;
      strokes.clear();
      const float wide = draw_strokes(code, 0, strokes) * scale;
      for (const Stroke& stroke : strokes)
        line.strokes.push_back(
            {pen + stroke.x0 * scale, stroke.y0 * scale, pen + stroke.x1 * scale, stroke.y1 * scale});
      line.width = pen + wide;
      pen += wide + gap;
    }
    first = false;
  }
  return line;
}

/// Squared distances from the nearest stroke, where they are small enough to matter.
void nearest_strokes(const TextLine& line, float x, float y, float reach, const PixelRect& place,
                     std::vector<float>& distances) {
  for (const Stroke& stroke : line.strokes) {
    const float x0 = x + stroke.x0 - static_cast<float>(place.x),
                y0 = y + stroke.y0 - static_cast<float>(place.y),
                x1 = x + stroke.x1 - static_cast<float>(place.x),
                y1 = y + stroke.y1 - static_cast<float>(place.y);
    const auto index = [](float value, std::int32_t size) {
      return std::clamp(static_cast<std::int32_t>(std::floor(value)), 0, size);
    };
    const std::int32_t left = index(std::min(x0, x1) - reach, place.width),
                       right = index(std::max(x0, x1) + reach + 1, place.width),
                       top = index(std::min(y0, y1) - reach, place.height),
                       bottom = index(std::max(y0, y1) + reach + 1, place.height);
    const float along_x = x1 - x0, along_y = y1 - y0;
    const float length = along_x * along_x + along_y * along_y, by = length > 0 ? 1 / length : 0;
    for (std::int32_t row = top; row < bottom; ++row) {
      float* out = distances.data() + static_cast<std::size_t>(row) * place.width;
      const float py = static_cast<float>(row) + 0.5f - y0;
      for (std::int32_t column = left; column < right; ++column) {
        const float px = static_cast<float>(column) + 0.5f - x0;
        const float t = std::clamp((px * along_x + py * along_y) * by, 0.f, 1.f);
        const float dx = px - t * along_x, dy = py - t * along_y;
        out[column] = std::min(out[column], dx * dx + dy * dy);
      }
    }
  }
}

void add_letters(const TextLine& line, float x, float y, TextPicture& picture) {
  const auto base = static_cast<std::int32_t>(std::lround(y + line.height)) - picture.place.y;
  for (const TextLine::Letter& letter : line.letters) {
    const FontGlyph& glyph = *letter.glyph;
    const std::int32_t left =
        static_cast<std::int32_t>(std::lround(x + letter.x)) + glyph.left - picture.place.x;
    const std::int32_t top = base - glyph.top;
    for (std::int32_t row = std::max(0, -top); row < std::min(glyph.height, picture.place.height - top);
         ++row) {
      const std::uint8_t* from = glyph.coverage.data() + static_cast<std::size_t>(row) * glyph.width;
      std::uint8_t* to = picture.coverage.data() + static_cast<std::size_t>(row + top) * picture.place.width;
      for (std::int32_t i = std::max(0, -left); i < std::min(glyph.width, picture.place.width - left); ++i)
        to[left + i] = std::max(to[left + i], from[i]);
    }
  }
}

/// The most that a line's letters may cover, within `clip`; accents rise above capitals, descenders below the
/// line.
PixelRect reach_of(const TextLine& line, float x, float y, float half, const PixelRect& clip) {
  const auto index = [](float value, std::int32_t from, std::int32_t size) {
    if (!(value > static_cast<float>(from))) return from;
    return value < static_cast<float>(from + size) ? static_cast<std::int32_t>(value) : from + size;
  };
  const float around = line.letters.empty() ? half + 1 : line.height / 2 + 1;
  const std::int32_t left = index(std::floor(x - around), clip.x, clip.width),
                     right = index(std::ceil(x + line.width + around), clip.x, clip.width),
                     top = index(std::floor(y - around), clip.y, clip.height),
                     bottom = index(std::ceil(y + line.height * (cap_height + descent) / cap_height + around),
                                    clip.y, clip.height);
  return {left, top, right - left, bottom - top};
}

} // namespace

TextLine lay_out_text(std::string_view text, float height) {
  return lay_out_text(text, height, process_fonts());
}

TextLine lay_out_text(std::string_view text, float height, FontStack& fonts) {
  return lay_out(characters_of(text), height, fonts);
}

float text_width(std::string_view text, float height) {
  return lay_out_text(text, height).width;
}

std::string fitted_text(std::string_view text, float width, float height) {
  const std::u32string characters = characters_of(text);
  const auto shown = [&](std::size_t count) {
    return count < characters.size() ? characters.substr(0, count) + U".." : characters;
  };
  const auto fits = [&](std::size_t count) {
    return lay_out(shown(count), height, process_fonts()).width <= width;
  };
  // Binary search for the longest prefix that fits.
  std::size_t least = 1, most = characters.size() + 1;
  if (fits(characters.size())) least = characters.size();
  while (most - least > 1 && least < characters.size()) {
    const std::size_t middle = (least + most) / 2;
    (fits(middle) ? least : most) = middle;
  }
  std::string result;
  for (const char32_t code : shown(least)) append_utf8(result, code);
  return result;
}

TextPicture draw_text(const TextLine& line, float x, float y, const PixelRect& clip) {
  const float half = std::max(1.1f, line.height * pen_share) / 2;
  TextPicture picture;
  picture.place = reach_of(line, x, y, half, clip);
  const std::size_t pixels = static_cast<std::size_t>(picture.place.width) * picture.place.height;
  picture.coverage.assign(pixels, 0);
  if (!line.strokes.empty()) {
    std::vector<float> distances(pixels, far_off);
    nearest_strokes(line, x, y, half + 1, picture.place, distances);
    for (std::size_t i = 0; i < pixels; ++i)
      picture.coverage[i] =
          distances[i] < (half + 0.5f) * (half + 0.5f)
              ? static_cast<std::uint8_t>(std::min(half + 0.5f - std::sqrt(distances[i]), 1.f) * 255 + 0.5f)
              : 0;
  }
  add_letters(line, x, y, picture);
  return picture;
}

} // namespace lanner
