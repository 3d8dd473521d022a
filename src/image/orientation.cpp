#include "image/orientation.h"

#include <cstring>

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

} // namespace

Image oriented(const Image& image, Orientation orientation) {
  if (orientation == Orientation{}) return image;
  const bool gray = info(image.format).planes == 1 && info(image.format).samples[0] == 1;
  Image flat = image;
  if (!gray && image.format != PixelFormat::rgb24) {
    flat = Image::allocate(PixelFormat::rgb24, image.width, image.height);
    convert(image, flat);
  }
  const bool swapped = orientation.quarter_turns % 2;
  Image result =
      Image::allocate(flat.format, swapped ? flat.height : flat.width, swapped ? flat.width : flat.height);
  result.color = flat.color;
  const std::int64_t pixel = std::int64_t{info(flat.format).samples[0]} * info(flat.format).bytes_per_sample;
  const Step step = step_of(flat.planes[0], pixel, orientation);
  for (std::int64_t y = 0; y < result.height; ++y) {
    std::byte* row = result.planes[0].data + y * result.planes[0].pitch;
    const std::byte* from = flat.planes[0].data + step.origin + y * step.y;
    for (std::int64_t x = 0; x < result.width; ++x)
      std::memcpy(row + x * pixel, from + x * step.x, static_cast<std::size_t>(pixel));
  }
  return result;
}

Image turned(const Image& image, int quarter_turns) {
  return oriented(image, {false, (quarter_turns % 4 + 4) % 4});
}

} // namespace lanner
