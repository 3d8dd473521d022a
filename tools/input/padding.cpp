#include "input/padding.h"

#include <algorithm>
#include <cstring>

namespace lanner::tool {
namespace {

/// Samples outside the source repeat those of its edge.
void extend(const Plane& from, Plane& to, std::size_t sample_bytes) {
  const auto row = static_cast<std::size_t>(from.width) * sample_bytes;
  for (std::int32_t y = 0; y < to.height; ++y) {
    const std::byte* source = from.data + std::min(y, from.height - 1) * from.pitch;
    std::byte* target = to.data + y * to.pitch;
    std::memcpy(target, source, row);
    for (std::int32_t x = from.width; x < to.width; ++x)
      std::memcpy(target + static_cast<std::size_t>(x) * sample_bytes, source + row - sample_bytes,
                  sample_bytes);
  }
}

} // namespace

Image padded_even(const Image& image) {
  const std::int32_t width = image.width + image.width % 2, height = image.height + image.height % 2;
  if (width == image.width && height == image.height) return image;
  Image padded = Image::allocate(image.format, width, height);
  padded.color = image.color;
  const PixelFormatInfo& facts = format_info(image.format);
  for (int p = 0; p < plane_count(image.format); ++p)
    extend(plane_at(image, p), plane_at(padded, p),
           std::size_t{facts.samples[static_cast<std::size_t>(p)]} * facts.bytes_per_sample);
  return padded;
}

} // namespace lanner::tool
