#include "image/orientation.h"

#include <cstring>

#include <lanner/error.h>

#include "base/check.h"
#include "image/color.h"

namespace lanner {

Orientation orientation_of(const std::int32_t* matrix) noexcept {
  if (!matrix) return {};
  // Rows map the stored x and y axes; y points down. (a b; c d) are signs once quarter turns are all there
  // is.
  const auto sign = [](std::int32_t value) { return value > 0 ? 1 : value < 0 ? -1 : 0; };
  const int a = sign(matrix[0]), b = sign(matrix[1]), c = sign(matrix[3]), d = sign(matrix[4]);
  if ((a != 0) == (b != 0) || (c != 0) == (d != 0) || (a != 0) == (c != 0)) return {};
  const bool mirror = a * d - b * c < 0;
  const int x = mirror ? -a : a, y = mirror ? -b : b;
  return {mirror, x > 0 ? 0 : y > 0 ? 1 : x < 0 ? 2 : 3};
}

namespace {

struct Step {
  std::int64_t origin, x, y; ///< Bytes: of the first shown pixel, and per shown pixel to the right and down.
};

Step step_of(const Plane& plane, std::int64_t pixel, Orientation orientation) {
  std::int64_t origin = 0, x = pixel, y = plane.pitch;
  if (orientation.mirror) {
    origin += (plane.width - 1) * x;
    x = -x;
  }
  std::int64_t width = plane.width, height = plane.height;
  for (int turn = 0; turn < orientation.quarter_turns; ++turn) {
    // Clockwise: the first shown pixel is the lowest of the left column, and columns read upwards become
    // rows.
    origin += (height - 1) * y;
    const std::int64_t right = -y;
    y = x;
    x = right;
    std::swap(width, height);
  }
  return {origin, x, y};
}

template<std::size_t pixel>
void turn_plane(const Plane& from, const Plane& to, Orientation orientation) {
  const Step step = step_of(from, pixel, orientation);
  for (std::int64_t y = 0; y < to.height; ++y) {
    std::byte* row = to.data + y * to.pitch;
    const std::byte* first = from.data + step.origin + y * step.y;
    for (std::int64_t x = 0; x < to.width; ++x) std::memcpy(row + x * pixel, first + x * step.x, pixel);
  }
}

void turn_plane(const Plane& from, const Plane& to, std::int64_t pixel, Orientation orientation) {
  switch (pixel) {
  case 1:
    return turn_plane<1>(from, to, orientation);
  case 2:
    return turn_plane<2>(from, to, orientation);
  case 3:
    return turn_plane<3>(from, to, orientation);
  default:
    return turn_plane<6>(from, to, orientation);
  }
}

/// What can be turned sample by sample and keeps all that `format` tells: chroma that is halved along one
/// axis would be halved along the other, or lie on the other side of its pixels.
PixelFormat turnable(PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  if (facts.yuv)
    return facts.bits <= 8    ? PixelFormat::yuv444p
           : facts.bits <= 10 ? PixelFormat::yuv444p10
           : facts.bits <= 12 ? PixelFormat::yuv444p12
                              : PixelFormat::yuv444p16;
  const bool wide = facts.bits > 8;
  if (facts.planes == 1 && facts.samples[0] == 1) return wide ? PixelFormat::gray16 : PixelFormat::gray8;
  return wide ? PixelFormat::rgb48 : PixelFormat::rgb24;
}

} // namespace

Image oriented(const Image& image, Orientation orientation) {
  if (orientation == Orientation{}) return image;
  check(image.device.is_host(), ErrorCode::unsupported,
        "turn: the picture lies on {}; copy it to the host first", image.device.to_string());
  Image flat = image;
  // Without a matrix of its own a picture's height tells it, which may be another one afterwards.
  if (format_info(flat.format).yuv) flat.color.matrix = resolved(flat.color, flat.format, flat.height).matrix;
  if (const PixelFormat format = turnable(image.format); format != image.format) {
    const ColorInfo color = flat.color;
    flat = Image::allocate(format, image.width, image.height);
    if (format_info(format).yuv) flat.color = color;
    convert_image(image, flat);
  }
  const bool swapped = orientation.quarter_turns % 2;
  Image result =
      Image::allocate(flat.format, swapped ? flat.height : flat.width, swapped ? flat.width : flat.height);
  result.color = flat.color;
  const PixelFormatInfo& facts = format_info(flat.format);
  for (std::size_t p = 0; p < facts.planes; ++p)
    turn_plane(flat.planes[p], result.planes[p], std::int64_t{facts.samples[p]} * facts.bytes_per_sample,
               orientation);
  return result;
}

Image turned_image(const Image& image, int quarter_turns) {
  return oriented(image, {false, (quarter_turns % 4 + 4) % 4});
}

} // namespace lanner
