#pragma once
// Windows sliding over the spatial axes of an image: geometry shared by convolutions, pooling and col2im.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/limits/account.h"
#include "graph/attribute.h"
#include "graph/type/dim.h"
#include "ops/table/arguments.h"

namespace lanner::ops {

/// The attributes of a window, one entry per spatial axis.
struct WindowAttributes {
  enum class AutoPad { notset, same_upper, same_lower, valid };

  std::vector<std::int64_t> strides, dilations, begin, end; ///< `begin`, `end`: padding; zero unless notset.
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;

  static WindowAttributes read(const AttributeMap& attributes, std::size_t spatial_rank);
  bool same() const { return auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower; }
};

/// The specifications of `auto_pad`, `pads`, `strides` and `dilations`.
std::vector<AttributeSpec> window_attribute_specs();

/// Number of window positions along each spatial axis.
Dims window_positions(const WindowAttributes& window, std::span<const Dim> image,
                      std::span<const Dim> kernel);

/// Concrete geometry. An image index is `position * stride + tap * dilation - begin`.
struct Window {
  std::vector<std::int64_t> image, positions, kernel, strides, dilations, begin, end;

  std::int64_t image_elements() const { return product_of(image); }
  std::int64_t position_count() const { return product_of(positions); }
  std::int64_t taps() const { return product_of(kernel); }
  static std::int64_t product_of(const std::vector<std::int64_t>& sizes);
};

/// Geometry with the padding implied by auto_pad; `image` and `positions` are spatial sizes.
Window resolve_window(const WindowAttributes& attributes, std::span<const std::int64_t> image,
                      std::span<const std::int64_t> positions, std::span<const std::int64_t> kernel);

/// Positions along one axis whose tap is inside the image: [first, last).
struct InsideRange {
  std::int64_t first, last;
};
InsideRange inside_range(const Window& window, std::size_t axis, std::int64_t tap);

/// Steps `index` through `sizes` in row-major order; false after the last.
bool next_index(std::span<std::int64_t> index, std::span<const std::int64_t> sizes);

/// Calls `body(image_offset, position_offset, count)` for each run of positions along the last axis whose
/// `tap` is inside the image; from one position of a run to the next the image offset grows by the last
/// stride.
template<typename Body>
void for_each_run(const Window& window, std::span<const std::int64_t> tap, Body&& body) {
  const std::size_t last = window.image.size() - 1;
  std::vector<std::int64_t> first(last + 1), counts(last + 1), start(last + 1);
  for (std::size_t d = 0; d <= last; ++d) {
    const InsideRange range = inside_range(window, d, tap[d]);
    if (range.first >= range.last) return;
    first[d] = range.first;
    counts[d] = range.last - range.first;
    start[d] = range.first * window.strides[d] + tap[d] * window.dilations[d] - window.begin[d];
  }
  std::vector<std::int64_t> row(last, 0);
  do {
    std::int64_t image = 0, position = 0;
    for (std::size_t d = 0; d <= last; ++d) {
      const std::int64_t step = d < last ? row[d] : 0;
      image = image * window.image[d] + start[d] + step * window.strides[d];
      position = position * window.positions[d] + first[d] + step;
    }
    body(image, position, counts[last]);
  } while (next_index(row, std::span(counts).first(last)));
}

/// The taps along one axis that are inside the image at some position, in ascending order: at most as many as
/// the image has elements, however large the kernel is.
std::vector<std::int64_t> inside_taps(const Window& window, std::size_t axis);

/// Calls `body(tap_number, tap)` for each tap of the kernel, in row-major order, that is inside the image at
/// some position. Throws what check_deadline() throws.
template<typename Body>
void for_each_tap(const Window& window, Body&& body) {
  constexpr std::int64_t elements_of_a_step = 1 << 20;
  const std::size_t rank = window.kernel.size();
  std::vector<std::vector<std::int64_t>> taps;
  std::vector<std::int64_t> counts, tap(rank), index(rank, 0);
  for (std::size_t d = 0; d < rank; ++d) {
    taps.push_back(inside_taps(window, d));
    counts.push_back(static_cast<std::int64_t>(taps[d].size()));
    if (taps[d].empty()) return;
  }
  const std::int64_t step = elements_of_a_step / std::max<std::int64_t>(window.position_count(), 1) + 1;
  std::int64_t visited = 0;
  do {
    std::int64_t number = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      tap[d] = taps[d][static_cast<std::size_t>(index[d])];
      number = number * window.kernel[d] + tap[d];
    }
    body(number, std::span<const std::int64_t>(tap));
    if (++visited % step == 0) check_deadline();
  } while (next_index(index, counts));
}

} // namespace lanner::ops
