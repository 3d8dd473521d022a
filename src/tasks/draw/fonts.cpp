#include "tasks/draw/fonts.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <system_error>

#include <lanner/error.h>

#include "base/file/regular_file.h"
#include "base/limits/account.h"
#include "base/options.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

/// By character coverage and similarity to the strokes: sans serif, regular weight.
constexpr std::string_view known_files[] = {
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "NotoSans-Regular.otf",
    "LiberationSans-Regular.ttf",
    "Arimo-Regular.ttf",
    "FreeSans.ttf",
    "FreeSans.otf",
    "NotoSansCJK-Regular.ttc",
    "NotoSansCJK-VF.otf.ttc",
    "NotoSansCJKsc-Regular.otf",
    "NotoSansCJKjp-Regular.otf",
    "NotoSansCJKtc-Regular.otf",
    "NotoSansCJKkr-Regular.otf",
    "NotoSansSC-Regular.otf",
    "NotoSansJP-Regular.otf",
    "NotoSansTC-Regular.otf",
    "NotoSansKR-Regular.otf",
    "SourceHanSans.ttc",
    "wqy-zenhei.ttc",
    "wqy-microhei.ttc",
    "DroidSansFallbackFull.ttf",
    "DroidSansFallback.ttf",
    "ipagp.ttf",
    "NanumGothic.ttf",
};
constexpr std::uint64_t most_font_bytes = 64u << 20;
constexpr int most_depth = 8, most_entries = 50'000;
constexpr std::size_t most_drawn = 4096;
constexpr char32_t cyrillic = U'Ж', greek = U'Ω', latin = U'é', chinese = U'中', japanese = U'あ',
                   korean = U'가';

/// Hebrew to Arabic's extensions run from the right; letters of Indian scripts, Thai to Myanmar and Khmer
/// join or stack.
bool needs_shaping(char32_t code) {
  return (code >= 0x0590 && code < 0x0e00) || (code >= 0x0e00 && code < 0x10a0) ||
         (code >= 0x1780 && code < 0x1c80) || (code >= 0xfb1d && code < 0xfe00) ||
         (code >= 0xfe70 && code < 0xfeff);
}

void look_into(const fs::path& folder, std::vector<fs::path>& places) {
  std::error_code error;
  fs::recursive_directory_iterator files(folder, fs::directory_options::skip_permission_denied, error);
  int entries = 0;
  for (; !error && files != fs::recursive_directory_iterator(); files.increment(error)) {
    if (++entries > most_entries) return;
    if (files.depth() >= most_depth) files.disable_recursion_pending();
    const std::string name = files->path().filename().string();
    const auto* const known = std::ranges::find(known_files, name);
    if (known == std::end(known_files)) continue;
    fs::path& place = places[static_cast<std::size_t>(known - std::begin(known_files))];
    if (place.empty()) place = files->path();
  }
}

} // namespace

std::vector<fs::path> find_font_files(std::span<const fs::path> folders) {
  std::vector<fs::path> places(std::size(known_files));
  for (const fs::path& folder : folders) look_into(folder, places);
  std::erase_if(places, [](const fs::path& place) { return place.empty(); });
  return places;
}

FontStack::FontStack(std::vector<fs::path> files) {
  for (fs::path& file : files) fonts_.push_back({std::move(file), false, {}, nullptr});
}

void FontStack::open(Font& font) {
  if (font.tried) return;
  font.tried = true;
  Limits limits;
  limits.file_bytes = most_font_bytes;
  const AccountScope scope(no_account()); // Kept for the process, not for the first caller.
  try {
    font.content = read_regular_file(font.path, limits);
    font.face = FontFace::open(font.content.bytes);
  } catch (const Error&) {
    font.face = nullptr; // Another font may work; support() says which do.
  }
  if (!font.face) font.content = {};
}

FontStack::Font* FontStack::font_with(char32_t code) {
  for (Font& font : fonts_) {
    open(font);
    if (font.face && font.face->has(code)) return &font;
  }
  return nullptr;
}

std::shared_ptr<const FontGlyph> FontStack::glyph(char32_t code, float cap_height) {
  if (needs_shaping(code) || !(cap_height > 0 && cap_height < 1000)) return nullptr;
  const Key key{code, static_cast<std::int32_t>(std::lround(cap_height * 64))};
  const std::lock_guard lock(mutex_);
  if (const auto known = drawn_.find(key); known != drawn_.end()) return known->second;
  if (drawn_.size() >= most_drawn) drawn_.clear();
  std::shared_ptr<const FontGlyph> glyph;
  if (const Font* font = font_with(code))
    if (auto drawn = font->face->draw(code, cap_height))
      glyph = std::make_shared<FontGlyph>(std::move(*drawn));
  drawn_.emplace(key, glyph);
  return glyph;
}

FontSupport FontStack::support() {
  const std::lock_guard lock(mutex_);
  if (!freetype_reason().empty()) return {"", "", freetype_reason()};
  const auto path_for = [&](std::initializer_list<char32_t> codes) {
    const Font* first = nullptr;
    for (const char32_t code : codes) {
      const Font* font = font_with(code);
      if (!font) return std::string();
      if (!first) first = font;
    }
    return first->path.string();
  };
  FontSupport found{path_for({cyrillic, greek, latin}), path_for({chinese, japanese, korean}), ""};
  if (found.path.empty())
    found.reason =
        "no font with Latin, Cyrillic and Greek letters was found; remedy: apt-get install fonts-dejavu-core";
  if (found.cjk_path.empty())
    found.reason +=
        fmt::format("{}no font with Chinese, Japanese and Korean characters was found; remedy: apt-get "
                    "install fonts-noto-cjk",
                    found.reason.empty() ? "" : "; ");
  return found;
}

FontStack& process_fonts() {
  // Leaked on purpose: labels are drawn while static objects are destroyed.
  static auto* fonts = new FontStack(find_font_files(options().font_folders));
  return *fonts;
}

FontSupport find_font() {
  return process_fonts().support();
}

} // namespace lanner
