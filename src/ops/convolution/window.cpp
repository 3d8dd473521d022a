#include "ops/convolution/window.h"

#include <lanner/error.h>

#include "base/check.h"
#include "ops/definition/bounds.h"

namespace lanner::ops {

static WindowAttributes::AutoPad parse_auto_pad(const std::string& text) {
  using AutoPad = WindowAttributes::AutoPad;
  if (text == "NOTSET") return AutoPad::notset;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  if (text == "SAME_LOWER") return AutoPad::same_lower;
  check(text == "VALID", ErrorCode::invalid_argument,
        "auto_pad is \"{}\", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID", text);
  return AutoPad::valid;
}

static std::vector<std::int64_t> sizes_attribute(const AttributeMap& attributes, std::string_view name,
                                                 std::size_t count, std::int64_t fallback,
                                                 std::int64_t smallest) {
  std::vector<std::int64_t> values = attributes.integers(name);
  if (values.empty()) values.assign(count, fallback);
  check(values.size() == count, ErrorCode::invalid_argument, "{} has {} values, expected {}", name,
        values.size(), count);
  for (const std::int64_t value : values) require_within(name, value, smallest, largest_window_size);
  return values;
}

WindowAttributes WindowAttributes::read(const AttributeMap& attributes, std::size_t spatial_rank) {
  WindowAttributes window;
  window.strides = sizes_attribute(attributes, "strides", spatial_rank, 1, 1);
  window.dilations = sizes_attribute(attributes, "dilations", spatial_rank, 1, 1);
  window.auto_pad = parse_auto_pad(attributes.string("auto_pad", "NOTSET"));
  window.ceil_mode = attributes.flag("ceil_mode");
  if (window.auto_pad != AutoPad::notset) {
    window.begin.assign(spatial_rank, 0);
    window.end.assign(spatial_rank, 0);
    return window;
  }
  const auto pads = sizes_attribute(attributes, "pads", 2 * spatial_rank, 0, 0);
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial_rank));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial_rank), pads.end());
  return window;
}

std::vector<AttributeSpec> window_attribute_specs() {
  return {string_attribute("auto_pad", "NOTSET", one_of({"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})),
          optional_attribute("pads", AttributeKind::integers, window_range(0)),
          optional_attribute("strides", AttributeKind::integers, window_range(1)),
          optional_attribute("dilations", AttributeKind::integers, window_range(1))};
}

static Dim axis_positions(const WindowAttributes& window, std::size_t axis, const Dim& image,
                          const Dim& kernel) {
  const std::int64_t stride = window.strides[axis];
  if (window.same()) return ceil_div(image, stride);
  const Dim extent = (kernel - 1) * window.dilations[axis] + 1;
  const Dim room = image + window.begin[axis] + window.end[axis] - extent;
  check(!room.is_constant() || room.value() >= 0, ErrorCode::invalid_argument,
        "a window of {} does not fit spatial axis {} of size {} with padding", extent.to_string(), axis,
        image.to_string());
  // A window that would start in the padding at the end is dropped, so its first element bounds the count
  // too.
  if (window.ceil_mode) return min(ceil_div(room, stride) + 1, ceil_div(image + window.begin[axis], stride));
  return floor_div(room, stride) + 1;
}

Dims window_positions(const WindowAttributes& window, std::span<const Dim> image,
                      std::span<const Dim> kernel) {
  check(image.size() == window.strides.size() && kernel.size() == image.size(), ErrorCode::invalid_argument,
        "the kernel has {} axes, the image has {}", kernel.size(), image.size());
  Dims positions;
  for (std::size_t d = 0; d < image.size(); ++d)
    positions.push_back(axis_positions(window, d, image[d], kernel[d]));
  return positions;
}

std::int64_t Window::product_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

Window resolve_window(const WindowAttributes& attributes, std::span<const std::int64_t> image,
                      std::span<const std::int64_t> positions, std::span<const std::int64_t> kernel) {
  Window window;
  window.image.assign(image.begin(), image.end());
  window.positions.assign(positions.begin(), positions.end());
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = attributes.strides;
  window.dilations = attributes.dilations;
  window.begin = attributes.begin;
  window.end = attributes.end;
  if (!attributes.same()) return window;
  for (std::size_t d = 0; d < image.size(); ++d) {
    const std::int64_t extent = (kernel[d] - 1) * window.dilations[d] + 1;
    const std::int64_t total =
        std::max<std::int64_t>((positions[d] - 1) * window.strides[d] + extent - image[d], 0);
    window.begin[d] =
        attributes.auto_pad == WindowAttributes::AutoPad::same_upper ? total / 2 : total - total / 2;
    window.end[d] = total - window.begin[d];
  }
  return window;
}

InsideRange inside_range(const Window& window, std::size_t axis, std::int64_t tap) {
  const std::int64_t shift = tap * window.dilations[axis] - window.begin[axis];
  const std::int64_t stride = window.strides[axis];
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t room = window.image[axis] - shift;
  const std::int64_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
  return {first, std::min(last, window.positions[axis])};
}

std::vector<std::int64_t> inside_taps(const Window& window, std::size_t axis) {
  std::vector<std::int64_t> taps;
  for (std::int64_t tap = 0; tap < window.kernel[axis];) {
    const InsideRange range = inside_range(window, axis, tap);
    if (range.first < range.last) {
      taps.push_back(tap++);
      continue;
    }
    // Positions from `first` on start after the image; the one before it is the next to reach it.
    const std::int64_t before = std::min(range.first, window.positions[axis]) - 1;
    if (before < 0) break;
    const std::int64_t missing = window.begin[axis] - before * window.strides[axis];
    const std::int64_t dilation = window.dilations[axis];
    tap = std::max(tap + 1, (missing + dilation - 1) / dilation);
  }
  return taps;
}

bool next_index(std::span<std::int64_t> index, std::span<const std::int64_t> sizes) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

} // namespace lanner::ops
