#include "image/orientation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "image/color.h"
#include "image/cuda/gpu_rotate.h"
#include "image/planes.h"

namespace lanner {

Orientation orientation_of(const std::int32_t* matrix) noexcept {
  if (!matrix) return {};
  // Rows map the stored x and y axes; y points down. For quarter turns only the signs of (a b; c d) matter.
  const auto sign = [](std::int32_t value) { return value > 0 ? 1 : value < 0 ? -1 : 0; };
  const int a = sign(matrix[0]), b = sign(matrix[1]), c = sign(matrix[3]), d = sign(matrix[4]);
  if ((a != 0) == (b != 0) || (c != 0) == (d != 0) || (a != 0) == (c != 0)) return {};
  const bool mirror = a * d - b * c < 0;
  const int x = mirror ? -a : a, y = mirror ? -b : b;
  return {mirror, x > 0 ? 0 : y > 0 ? 1 : x < 0 ? 2 : 3};
}

namespace {

/// Bytes from the first displayed pixel, and per displayed pixel to the right and down.
RotatedPlane rotated_plane(const Plane& from, const Plane& to, std::int32_t pixel, Orientation orientation) {
  std::int64_t origin = 0, x = pixel, y = from.pitch;
  if (orientation.mirror) {
    origin += (from.width - 1) * x;
    x = -x;
  }
  std::int64_t width = from.width, height = from.height;
  for (int step = 0; step < orientation.quarter_turns; ++step) {
    // Clockwise: the first displayed pixel is the lowest of the left column, and columns read upwards become
    // rows.
    origin += (height - 1) * y;
    const std::int64_t right = -y;
    y = x;
    x = right;
    std::swap(width, height);
  }
  return {reinterpret_cast<const unsigned char*>(from.data) + origin,
          x,
          y,
          reinterpret_cast<unsigned char*>(to.data),
          to.pitch,
          to.width,
          to.height,
          pixel};
}

// In square tiles: neighbours in a displayed row may be rows apart, and each cache line should be read once.
template<std::size_t pixel>
void rotate_on_host(const RotatedPlane& plane) {
  constexpr std::int64_t side = 64;
  for (std::int64_t top = 0; top < plane.height; top += side)
    for (std::int64_t left = 0; left < plane.width; left += side)
      for (std::int64_t y = top; y < std::min<std::int64_t>(top + side, plane.height); ++y) {
        unsigned char* row = plane.to + y * plane.to_pitch;
        const unsigned char* first = plane.from + y * plane.down;
        for (std::int64_t x = left; x < std::min<std::int64_t>(left + side, plane.width); ++x)
          std::memcpy(row + x * static_cast<std::int64_t>(pixel), first + x * plane.right, pixel);
      }
}

void rotate_on_host(const RotatedPlane& plane) {
  switch (plane.pixel) {
  case 1:
    return rotate_on_host<1>(plane);
  case 2:
    return rotate_on_host<2>(plane);
  case 3:
    return rotate_on_host<3>(plane);
  case 4:
    return rotate_on_host<4>(plane);
  case 8:
    return rotate_on_host<8>(plane);
  default:
    return rotate_on_host<6>(plane);
  }
}

/// A format that can be rotated sample by sample without losing information of `format`: chroma that is
/// halved along one axis would be halved along the other, or be sited on the other side of its pixels.
PixelFormat rotatable_format(PixelFormat format) {
  return format_info(format).yuv ? with_whole_chroma(format) : format;
}

} // namespace

Image oriented(const Image& image, Orientation orientation, Stream stream) {
  if (orientation == Orientation{}) return image;
  const bool host = image.device.is_host();
  Limits as_large; // A picture of that many pixels exists already.
  as_large.pixels = std::max(as_large.pixels, static_cast<std::uint64_t>(image.width) *
                                                  static_cast<std::uint64_t>(image.height));
  Image flat = image;
  // Without an explicit matrix it depends on the picture's height, which may change here.
  if (format_info(flat.format).yuv) flat.color.matrix = resolved(flat.color, flat.format, flat.height).matrix;
  const PixelFormat format = rotatable_format(image.format);
  const bool converted = format != image.format;
  if (converted) {
    const ColorInfo color = flat.color;
    flat = Image::allocate(format, image.width, image.height, as_large, image.device);
    if (format_info(format).yuv) flat.color = color;
    convert_image(image, flat, stream);
  }
  const bool swapped = orientation.quarter_turns % 2;
  const cuda::Queueing queueing(stream.handle ? Device{} : image.device);
  Image result = Image::allocate(format, swapped ? flat.height : flat.width,
                                 swapped ? flat.width : flat.height, as_large, image.device);
  result.color = flat.color;
  const PixelFormatInfo& facts = format_info(format);
  const auto rotate = [&](const Plane& from, const Plane& to, std::int32_t pixel) {
    const RotatedPlane plane = rotated_plane(from, to, pixel, orientation);
    if (host)
      rotate_on_host(plane);
    else
      rotate_on_gpu(plane, image.device, stream);
  };
  for (int p = 0; p < plane_count(format); ++p)
    rotate(plane_at(flat, p), plane_at(result, p),
           facts.samples[static_cast<std::size_t>(p)] * facts.bytes_per_sample);
  if (!host && (converted || !stream.handle)) synchronize(image.device, stream); // `flat` is released.
  return result;
}

Image rotated_image(const Image& image, int quarter_turns, Stream stream, bool mirror) {
  return oriented(image, {mirror, (quarter_turns % 4 + 4) % 4}, stream);
}

} // namespace lanner
