#include "report/page_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <lanner/preprocess.h>

#include "report/assets.h"

namespace lanner::tool {
namespace {

constexpr std::int32_t shown_width = 560, shown_height = 560;

std::string base64(const std::vector<std::byte>& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? std::to_integer<unsigned>(bytes[i + k]) : 0u;
    };
    const unsigned group = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

} // namespace

std::string data_uri(const std::vector<std::byte>& jpeg) {
  return "data:image/jpeg;base64," + base64(jpeg);
}

std::vector<std::byte> to_jpeg(const Image& image) {
  const double scale = std::min({1.0, static_cast<double>(shown_width) / image.width,
                                 static_cast<double>(shown_height) / image.height});
  Preprocess spec;
  spec.dtype = DType::u8;
  spec.channels_last = true;
  spec.resize = Resize::area;
  spec.width = std::max(1, static_cast<std::int32_t>(std::lround(image.width * scale)));
  spec.height = std::max(1, static_cast<std::int32_t>(std::lround(image.height * scale)));
  const Tensor pixels = to_tensor(image, spec);
  return encode_image(Image::from_tensor(pixels.reshaped({spec.height, spec.width, 3}), PixelFormat::rgb24),
                      "jpg");
}

std::string html_safe(const std::string& plain) {
  std::string text;
  for (const char c : plain) {
    if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else if (c == '&')
      text += "&amp;";
    else if (c == '"')
      text += "&quot;";
    else
      text += c;
  }
  return text;
}

std::string tile(const char* what, const std::string& value, const char* unit, const std::string& more) {
  return fmt::format("<div class=\"tile\"><div class=\"what\">{}</div><div class=\"value\">{}<span "
                     "class=\"unit\">{}</span></div><div class=\"more\">{}</div></div>\n",
                     what, value, unit, more);
}

void write_page(OutputFile& file, const PageParts& parts) {
  std::string_view rest = page_html;
  const auto put = [&](std::string_view name, const auto& texts) {
    const std::string place = fmt::format("{{{{{}}}}}", name);
    const std::size_t at = rest.find(place);
    file.write(rest.substr(0, at));
    for (const std::string_view text : texts) file.write(text);
    rest.remove_prefix(at + place.size());
  };
  put("title", std::array<std::string_view, 1>{parts.title});
  put("style", parts.styles);
  put("kind", std::array{parts.kind});
  put("main", std::array{parts.main});
  put("data", std::array{parts.data});
  put("script", parts.scripts);
  file.write(rest);
}

} // namespace lanner::tool
