#pragma once
// Font files of the machine, for letters that have no strokes.

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

/// Fonts that are known to have many letters, of those that lie in the folders or below: first those of
/// Latin, Cyrillic and Greek, then those of Chinese, Japanese and Korean, each in the order of preference.
std::vector<std::filesystem::path> find_font_files(std::span<const std::filesystem::path> folders);

/// Fonts that are asked one after the other for a letter. Files are opened when one before lacks it. Any
/// thread.
class FontStack {
public:
  explicit FontStack(std::vector<std::filesystem::path> files);

  /// With capitals `cap_height` pixels high. Null where no font has it, and for scripts whose letters change
  /// by their neighbours or run from the right, which one by one would be wrong.
  std::shared_ptr<const FontGlyph> glyph(char32_t code, float cap_height);
  FontSupport support();

private:
  struct Font {
    std::filesystem::path path;
    bool tried = false;
    Content content;
    std::unique_ptr<FontFace> face; ///< Null where the file is no font.
  };
  /// Code, and height of a capital in 64ths of a pixel.
  using Key = std::tuple<char32_t, std::int32_t>;
  Font* font_with(char32_t code);
  static void open(Font& font);

  std::mutex mutex_;
  std::vector<Font> fonts_;
  std::map<Key, std::shared_ptr<const FontGlyph>> drawn_;
};

/// Those of the machine's folders, looked for at the first call.
FontStack& process_fonts();

} // namespace lanner
