#include <lanner/raw_image.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "image/planes.h"

namespace lanner {

namespace {

struct Name {
  std::string_view name;
  RawFormat format;
};

// NVENC's words of 32 bits have their first letter in the highest bits, which lie last in memory.
constexpr Name names[] = {
    {"nv12", {PixelFormat::nv12}},
    {"yv12", {PixelFormat::yuv420p, RawOrder::swapped_chroma}},
    {"iyuv", {PixelFormat::yuv420p}},
    {"yuv420", {PixelFormat::yuv420p}},
    {"yuv420p", {PixelFormat::yuv420p}},
    {"yuv444", {PixelFormat::yuv444p}},
    {"yuv444_16bit", {PixelFormat::yuv444p16}},
    {"yuv444_10bit", {PixelFormat::yuv444p10msb}},
    {"nv16", {PixelFormat::nv16}},
    {"p010", {PixelFormat::p010}},
    {"p210", {PixelFormat::p210}},
    {"argb", {PixelFormat::bgra32}},
    {"abgr", {PixelFormat::rgba32}},
    {"argb10", {PixelFormat::rgb48, RawOrder::argb10}},
    {"abgr10", {PixelFormat::rgb48, RawOrder::abgr10}},
};

bool is_packed(const RawFormat& format) {
  return format.order == RawOrder::argb10 || format.order == RawOrder::abgr10;
}

Image described(const RawFormat& format, std::int32_t width, std::int32_t height) {
  constexpr std::int32_t most = 65536;
  check(width > 0 && height > 0 && width <= most && height <= most, ErrorCode::invalid_argument,
        "raw picture: size {}x{}, expected 1 to {} each", width, height, most);
  Image image;
  image.format = format.format;
  image.width = width;
  image.height = height;
  shape_planes(image, 1);
  return image;
}

/// 10 bits as 16: the highest come again below, so that white stays white.
std::uint16_t widened(std::uint32_t sample) {
  return static_cast<std::uint16_t>(sample << 6 | sample >> 4);
}

Image unpacked(std::span<const std::byte> bytes, RawOrder order, std::int32_t width, std::int32_t height) {
  Image image = Image::allocate(PixelFormat::rgb48, width, height);
  const std::byte* from = bytes.data();
  for (std::int32_t y = 0; y < height; ++y) {
    std::byte* to = image.planes[0].data + y * image.planes[0].pitch;
    for (std::int32_t x = 0; x < width; ++x, from += 4, to += 6) {
      std::uint32_t word = 0;
      std::memcpy(&word, from, sizeof word);
      std::uint16_t rgb[3] = {widened(word >> 20 & 1023), widened(word >> 10 & 1023), widened(word & 1023)};
      if (order == RawOrder::abgr10) std::swap(rgb[0], rgb[2]);
      std::memcpy(to, rgb, sizeof rgb);
    }
  }
  return image;
}

} // namespace

RawFormat parse_raw_format(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Name& known : names)
    if (known.name == lower) return known.format;
  return {parse_pixel_format(lower)};
}

std::int64_t raw_bytes(const RawFormat& format, std::int32_t width, std::int32_t height) {
  if (is_packed(format)) return std::int64_t{4} * width * height;
  const Image image = described(format, width, height);
  std::int64_t bytes = 0;
  for (int p = 0; p < plane_count(format.format); ++p)
    bytes += plane_at(image, p).pitch * plane_at(image, p).height;
  return bytes;
}

Image image_from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const RawFormat& format, std::int32_t width, std::int32_t height) {
  Image image = described(format, width, height);
  const std::int64_t expected = raw_bytes(format, width, height);
  check(static_cast<std::int64_t>(bytes.size()) == expected, ErrorCode::invalid_argument,
        "raw picture: {} bytes, expected {} of {}x{} {}", bytes.size(), expected, width, height,
        is_packed(format) ? "32-bit words" : to_string(format.format));
  if (is_packed(format)) return unpacked(bytes, format.order, width, height);
  auto* data = const_cast<std::byte*>(bytes.data());
  for (int p = 0; p < plane_count(format.format); ++p) {
    Plane& plane = plane_at(image, p);
    plane.data = data;
    data += plane.pitch * plane.height;
  }
  if (format.order == RawOrder::swapped_chroma) std::swap(image.planes[1], image.planes[2]);
  image.owner = std::move(owner);
  return image;
}

} // namespace lanner
