#pragma once
// FreeType, opened at first use.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lanner {

/// A glyph: a letter of a font at one size.
struct FontGlyph {
  std::int32_t left = 0, top = 0;     ///< Of the bitmap's corner: right of the pen, above the baseline.
  std::int32_t width = 0, height = 0; ///< Of the bitmap.
  float advance = 0;                  ///< Of the pen.
  std::vector<std::uint8_t> coverage; ///< 0..255, row by row; empty for a space.
};

/// Why FreeType is not available, with the remedy; empty where it is.
const std::string& freetype_reason();

/// One font of a file in memory. Used by one thread at a time, and one font at a time in the process.
class FontFace {
public:
  /// `bytes` must outlive the font. Null where FreeType finds no font with outlines in them.
  static std::unique_ptr<FontFace> open(std::span<const std::byte> bytes);
  ~FontFace();
  FontFace(const FontFace&) = delete;
  FontFace& operator=(const FontFace&) = delete;

  bool has(char32_t code) const;
  /// With capitals `cap_height` pixels high. Null where the font lacks it.
  std::optional<FontGlyph> draw(char32_t code, float cap_height) const;

private:
  explicit FontFace(void* face) : face_(face) {}
  bool load(char32_t code, int size) const;

  void* face_;
  float cap_share_ = 0.72f; ///< Height of a capital relative to the font's size.
};

} // namespace lanner
