// Names of pixel formats and of code points of colour.

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include <lanner/image.h>
#include <lanner/nearest.h>

#include "base/check.h"
#include "image/code_points.h"

namespace lanner {

namespace {

/// FFmpeg's names where they differ, without `le` and `be`: of formats that name the range, too (yuvj...),
/// the samples; of those that readers unpack what they are unpacked to. And NVENC's names of planes.
constexpr std::pair<std::string_view, PixelFormat> other_names[] = {
    {"gray", PixelFormat::gray8},
    {"monow", PixelFormat::gray8},
    {"monob", PixelFormat::gray8},
    {"grayf32", PixelFormat::gray16},
    {"rgba", PixelFormat::rgba32},
    {"bgra", PixelFormat::bgra32},
    {"argb", PixelFormat::rgba32},
    {"abgr", PixelFormat::rgba32},
    {"pal8", PixelFormat::rgba32},
    {"rgb0", PixelFormat::rgb24},
    {"0rgb", PixelFormat::rgb24},
    {"bgr0", PixelFormat::rgb24},
    {"0bgr", PixelFormat::rgb24},
    {"rgb8", PixelFormat::rgb24},
    {"bgr8", PixelFormat::rgb24},
    {"rgb4", PixelFormat::rgb24},
    {"bgr4", PixelFormat::rgb24},
    {"rgb4_byte", PixelFormat::rgb24},
    {"bgr4_byte", PixelFormat::rgb24},
    {"rgb565", PixelFormat::rgb24},
    {"bgr565", PixelFormat::rgb24},
    {"rgb555", PixelFormat::rgb24},
    {"bgr555", PixelFormat::rgb24},
    {"rgb444", PixelFormat::rgb24},
    {"bgr444", PixelFormat::rgb24},
    {"bayer_bggr8", PixelFormat::rgb24},
    {"bayer_rggb8", PixelFormat::rgb24},
    {"bayer_gbrg8", PixelFormat::rgb24},
    {"bayer_grbg8", PixelFormat::rgb24},
    {"bayer_bggr16", PixelFormat::rgb48},
    {"bayer_rggb16", PixelFormat::rgb48},
    {"bayer_gbrg16", PixelFormat::rgb48},
    {"bayer_grbg16", PixelFormat::rgb48},
    {"xyz12", PixelFormat::rgb48},
    {"gbrpf32", PixelFormat::rgb48},
    {"gbrapf32", PixelFormat::rgba64},
    {"x2rgb10", PixelFormat::gbrp10},
    {"x2bgr10", PixelFormat::gbrp10},
    {"yuvj420p", PixelFormat::yuv420p},
    {"yuvj422p", PixelFormat::yuv422p},
    {"yuvj444p", PixelFormat::yuv444p},
    {"yuvj440p", PixelFormat::yuv440p},
    {"yuvj411p", PixelFormat::yuv411p},
    {"yuyv422", PixelFormat::yuv422p},
    {"uyvy422", PixelFormat::yuv422p},
    {"yvyu422", PixelFormat::yuv422p},
    {"uyyvyy411", PixelFormat::yuv411p},
    {"nv21", PixelFormat::yuv420p},
    {"nv24", PixelFormat::yuv444p},
    {"nv42", PixelFormat::yuv444p},
    {"nv20", PixelFormat::yuv422p10},
    {"y210", PixelFormat::yuv422p10},
    {"y212", PixelFormat::yuv422p12},
    {"p410", PixelFormat::yuv444p10},
    {"p412", PixelFormat::yuv444p12},
    {"p416", PixelFormat::yuv444p16},
    {"ayuv64", PixelFormat::yuva444p16},
    {"iyuv", PixelFormat::yuv420p},
    {"yuv420", PixelFormat::yuv420p},
    {"yuv444", PixelFormat::yuv444p},
    {"yuv444_10bit", PixelFormat::yuv444p10msb},
    {"yuv444_16bit", PixelFormat::yuv444p16},
};

std::optional<PixelFormat> own_name(std::string_view name) {
  for (int i = 0; i < pixel_format_count; ++i)
    if (const auto format = static_cast<PixelFormat>(i); to_string(format) == name) return format;
  return std::nullopt;
}

std::optional<PixelFormat> other_name(std::string_view name) {
  for (const auto& [other, format] : other_names)
    if (other == name) return format;
  return std::nullopt;
}

std::optional<PixelFormat> format_named(std::string_view name) {
  if (const auto format = own_name(name)) return format;
  if (const auto format = other_name(name)) return format;
  if (!name.ends_with("le") && !name.ends_with("be")) return std::nullopt;
  name.remove_suffix(2);
  const auto format = own_name(name);
  return format && format_info(*format).bytes_per_sample == 2 ? format : other_name(name);
}

std::string_view name_of(std::uint8_t code, std::span<const CodePoint> points) {
  for (const CodePoint& point : points)
    if (point.code == code) return point.name;
  return "reserved";
}

} // namespace

PixelFormat parse_pixel_format(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (const auto format = format_named(lower)) return *format;
  std::vector<std::string> known;
  for (int i = 0; i < pixel_format_count; ++i) known.emplace_back(to_string(static_cast<PixelFormat>(i)));
  fail(ErrorCode::invalid_argument, "pixel format '{}' is not known: expected one of {}{}", name,
       fmt::join(known, ", "), did_you_mean(lower, known));
}

std::string ffmpeg_name(PixelFormat format) {
  switch (format) {
  case PixelFormat::gray8:
    return "gray";
  case PixelFormat::rgba32:
    return "rgba";
  case PixelFormat::bgra32:
    return "bgra";
  case PixelFormat::rgb_planar:
  case PixelFormat::bgr_planar:
    return {};
  default:
    return std::string(to_string(format)) + (format_info(format).bytes_per_sample == 2 ? "le" : "");
  }
}

bool has_ffmpeg_name(PixelFormat format, std::string_view name) {
  const std::string own = ffmpeg_name(format);
  const bool full = name.starts_with("yuvj") && own.starts_with("yuv") && name.substr(4) == own.substr(3);
  return full || (!own.empty() && name == own);
}

std::string_view primaries_name(std::uint8_t code) noexcept {
  return name_of(code, primaries_points);
}

std::string_view transfer_name(std::uint8_t code) noexcept {
  return name_of(code, transfer_points);
}

} // namespace lanner
