#pragma once
// Font files of the machine, for characters without strokes.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include <lanner/draw.h>
#include <lanner/source.h>

#include "tasks/draw/freetype.h"

namespace lanner {

/// Fonts known to have many characters, found in the folders or below: first those of Latin, Cyrillic and
/// Greek, then those of Chinese, Japanese and Korean, each in the order of preference.
std::vector<std::filesystem::path> find_font_files(std::span<const std::filesystem::path> folders);

/// Fonts that are tried in order for a character. A file is opened when the fonts before it lack a character.
/// Any
/// thread.
class FontStack {
public:
  explicit FontStack(std::vector<std::filesystem::path> files);

  /// With capitals `cap_height` pixels high. Null where no font has it, and for scripts whose letters change
  /// with their neighbours or run from the right, which cannot be drawn letter by letter.
  std::shared_ptr<const FontGlyph> glyph(char32_t code, float cap_height);
  FontSupport support();

private:
  struct Font {
    std::filesystem::path path;
    bool tried = false;
    Content content;
    std::unique_ptr<FontFace> face; ///< Null where the file is not a font.
  };
  /// Code, and height of a capital in 64ths of a pixel.
  using Key = std::tuple<char32_t, std::int32_t>;
  Font* font_with(char32_t code);
  static void open(Font& font);

  std::mutex mutex_;
  std::vector<Font> fonts_;
  std::map<Key, std::shared_ptr<const FontGlyph>> drawn_;
};

/// Fonts of the machine's folders, searched at the first call.
FontStack& process_fonts();

} // namespace lanner
