#include "backends/onednn/window.h"

#include <algorithm>

#include <lanner/error.h>

#include "backends/convolution/convolution_window.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

Dims filled(const AttributeMap& attributes, const char* name, std::size_t size, std::int64_t fallback) {
  const std::vector<std::int64_t> given = attributes.integers(name);
  check(given.empty() || given.size() == size, ErrorCode::invalid_argument, "{}: expected {} values, got {}",
        name, size, given.size());
  return given.empty() ? Dims(size, fallback) : Dims(given.begin(), given.end());
}

/// Padding at the start, given a total that may be odd.
std::int64_t front(const AttributeMap& attributes, const Dims& pads, std::size_t axis, std::int64_t total) {
  const std::string mode = attributes.string("auto_pad", "NOTSET");
  if (mode == "VALID") return 0;
  if (mode == "SAME_UPPER") return std::max<std::int64_t>(total, 0) / 2;
  if (mode == "SAME_LOWER") return (std::max<std::int64_t>(total, 0) + 1) / 2;
  return pads[axis];
}

} // namespace

Window window_of(const AttributeMap& attributes, const Dims& kernel, const Shape& input,
                 const Shape& output) {
  const ops::Window w = lanner::window_of(attributes, input, output, kernel);
  return {w.kernel, w.strides, w.dilations, w.begin, end_padding(w)};
}

Window transposed_window_of(const AttributeMap& attributes, const Dims& kernel, const Shape& input,
                            const Shape& output) {
  const std::size_t size = kernel.size();
  Window w{kernel, filled(attributes, "strides", size, 1), filled(attributes, "dilations", size, 1),
           Dims(size, 0), Dims(size, 0)};
  const Dims pads = filled(attributes, "pads", 2 * size, 0),
             extra = filled(attributes, "output_padding", size, 0);
  const bool sized = !attributes.integers("output_shape").empty();
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t extent = (kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t total = (input[i + 2] - 1) * w.strides[i] + extent - output[i + 2];
    if (sized) {
      const std::int64_t both = std::max<std::int64_t>(total + extra[i], 0);
      w.begin[i] = attributes.string("auto_pad", "NOTSET") == "SAME_UPPER" ? both / 2 : (both + 1) / 2;
    } else {
      w.begin[i] = front(attributes, pads, i, total + extra[i]);
    }
    w.end[i] = total - w.begin[i];
  }
  return w;
}

} // namespace lanner::onednn
