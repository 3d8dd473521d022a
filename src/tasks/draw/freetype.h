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

/// A letter of a font at one size.
struct FontGlyph {
  std::int32_t left = 0, top = 0;     ///< Of the picture's corner: right of the pen, above the line.
  std::int32_t width = 0, height = 0; ///< Of the picture.
  float advance = 0;                  ///< Of the pen.
  std::vector<std::uint8_t> coverage; ///< 0..255, row by row; empty for a space.
};

/// Why there is no FreeType on this machine, with the remedy; empty where there is one.
const std::string& freetype_reason();

/// One font of a file in memory. One thread at a time, and one font at a time in the process.
class FontFace {
public:
  /// `bytes` stay for as long as the font. Null where they are no font with outlines that FreeType reads.
  static std::unique_ptr<FontFace> open(std::span<const std::byte> bytes);
  ~FontFace();
  FontFace(const FontFace&) = delete;
  FontFace& operator=(const FontFace&) = delete;

  bool has(char32_t code) const;
  /// With capitals `cap_height` pixels high. Null where the font does not have it.
  std::optional<FontGlyph> draw(char32_t code, float cap_height) const;

private:
  explicit FontFace(void* face) : face_(face) {}
  bool load(char32_t code, int size) const;

  void* face_;
  float cap_share_ = 0.72f; ///< Height of a capital by the font's size.
};

} // namespace lanner
