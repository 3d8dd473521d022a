// Pictures between black bars.

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "video/write/resized.h"

namespace lanner {

namespace {

/// The sample that opaque black is made of, in a plane of the format.
unsigned black_of(const Image& image, int plane) {
  const PixelFormatInfo& facts = format_info(image.format);
  if (plane == facts.planes) return (1u << facts.bits) - 1;
  if (!facts.yuv) return 0;
  const unsigned limited = image.color.range == ColorRange::full ? 0 : 16u << (facts.bits - 8);
  const unsigned sample = plane == 0 ? limited : 1u << (facts.bits - 1);
  return sample << facts.shift;
}

void fill_black(Image& image) {
  const PixelFormatInfo& facts = format_info(image.format);
  for (int p = 0; p < plane_count(image.format); ++p) {
    const Plane& plane = plane_at(image, p);
    const unsigned black = black_of(image, p);
    const std::size_t count = static_cast<std::size_t>(plane_row_bytes(image, p)) / facts.bytes_per_sample;
    for (std::int32_t y = 0; y < plane.height; ++y) {
      std::byte* row = plane.data + y * plane.pitch;
      if (facts.bytes_per_sample == 1) {
        std::memset(row, static_cast<int>(black), count);
        continue;
      }
      auto* samples = reinterpret_cast<std::uint16_t*>(row);
      std::fill(samples, samples + count, static_cast<std::uint16_t>(black));
    }
  }
}

/// The part of an image that begins at a place where chroma samples do.
Image part_of(const Image& image, std::int32_t x, std::int32_t y, std::int32_t width, std::int32_t height) {
  const PixelFormatInfo& facts = format_info(image.format);
  Image part = image;
  part.width = width, part.height = height;
  for (std::size_t p = 0; p < static_cast<std::size_t>(plane_count(image.format)); ++p) {
    const bool chroma = p > 0 && p < facts.planes && facts.yuv;
    const int shift_x = chroma ? facts.chroma_x : 0, shift_y = chroma ? facts.chroma_y : 0;
    Plane& plane = plane_at(part, static_cast<int>(p));
    plane.data +=
        (y >> shift_y) * plane.pitch + std::int64_t{x >> shift_x} * facts.samples[p] * facts.bytes_per_sample;
    plane.width = (width + (1 << shift_x) - 1) >> shift_x;
    plane.height = (height + (1 << shift_y) - 1) >> shift_y;
  }
  return part;
}

std::int32_t aligned_down(std::int32_t value, int shift) {
  return value >> shift << shift;
}

} // namespace

Image fitted_image(const Image& image, std::int32_t width, std::int32_t height, SizeChange how) {
  if (image.width == width && image.height == height) return image;
  if (how == SizeChange::scale) return resized_image(image, width, height);
  const PixelFormatInfo& facts = format_info(image.format);
  const double scale =
      std::min(static_cast<double>(width) / image.width, static_cast<double>(height) / image.height);
  const auto inside = [&](std::int32_t own, std::int32_t most, int shift) {
    const auto size = static_cast<std::int32_t>(own * scale + 0.5);
    if (size >= most) return most;
    return std::max(aligned_down(size, shift), std::int32_t{1} << shift);
  };
  const std::int32_t w = inside(image.width, width, facts.chroma_x),
                     h = inside(image.height, height, facts.chroma_y);
  const std::int32_t x = aligned_down((width - w) / 2, facts.chroma_x);
  const std::int32_t y = aligned_down((height - h) / 2, facts.chroma_y);
  Image result = Image::allocate(image.format, width, height);
  result.color = image.color;
  fill_black(result);
  Image place = part_of(result, x, y, w, h);
  copy_image(resized_image(image, w, h), place);
  return result;
}

} // namespace lanner
