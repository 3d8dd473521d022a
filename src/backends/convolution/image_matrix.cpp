#include "backends/convolution/image_matrix.h"

#include <algorithm>
#include <span>

#include "backends/cuda/bounds.h"
#include "backends/storage_layout.h"

namespace lanner::cuda {

Layout pixels_layout(const Shape& shape) {
  return canonical(Layout::channels_last(shape.rank()), shape);
}

bool takes_channel_slices(const Shape& shape) {
  const auto pixels = Shape(std::span(shape.dims()).subspan(2)).elements();
  return shape[1] > 1 || pixels == 1;
}

bool counts_in_31_bits(const Shape& input, const Shape& filter, const Shape& output,
                       const ops::Window& window) {
  const auto fits = [](const Shape& shape) { return shape.elements() < INT32_MAX; };
  const auto small = [](std::int64_t value) { return value < 1 << 24; };
  return fits(input) && fits(filter) && fits(output) && std::ranges::all_of(window.strides, small) &&
         std::ranges::all_of(window.dilations, small) && std::ranges::all_of(window.begin, small) &&
         std::ranges::all_of(window.kernel, small) && std::ranges::all_of(window.image, small) &&
         within_library_bounds(window);
}

MatrixWindow matrix_window(const ops::Window& window, std::int64_t channels, std::int64_t pixel) {
  MatrixWindow w;
  // 1-D: an image of height 1.
  const std::size_t axes = window.kernel.size(), first = 2 - axes;
  for (std::size_t i = 0; i < axes; ++i) {
    w.image[first + i] = window.image[i];
    w.result[first + i] = window.positions[i];
    w.kernel[first + i] = window.kernel[i];
    w.strides[first + i] = window.strides[i];
    w.dilations[first + i] = window.dilations[i];
    w.begin[first + i] = window.begin[i];
  }
  w.channels = channels;
  w.pixel = pixel;
  return w;
}

bool reads_own_pixel(const MatrixWindow& w) {
  for (int i = 0; i < 2; ++i)
    if (w.kernel[i] != 1 || w.strides[i] != 1 || w.begin[i] != 0 || w.image[i] != w.result[i]) return false;
  return true;
}

} // namespace lanner::cuda
