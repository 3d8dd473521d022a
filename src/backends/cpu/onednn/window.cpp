#include "backends/cpu/onednn/window.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::onednn {

namespace {

Dims filled(const AttributeMap& attributes, const char* name, std::size_t size, std::int64_t fallback) {
  const std::vector<std::int64_t> given = attributes.integers(name);
  check(given.empty() || given.size() == size, ErrorCode::invalid_argument, "{}: expected {} values, got {}",
        name, size, given.size());
  return given.empty() ? Dims(size, fallback) : Dims(given.begin(), given.end());
}

/// Padding in front, of a total that may be odd.
std::int64_t front(const AttributeMap& attributes, const Dims& pads, std::size_t axis, std::int64_t total) {
  const std::string mode = attributes.string("auto_pad", "NOTSET");
  if (mode == "VALID") return 0;
  if (mode == "SAME_UPPER") return std::max<std::int64_t>(total, 0) / 2;
  if (mode == "SAME_LOWER") return (std::max<std::int64_t>(total, 0) + 1) / 2;
  return pads[axis];
}

Window unpadded(const AttributeMap& attributes, const Dims& kernel) {
  const std::size_t size = kernel.size();
  return {kernel, filled(attributes, "strides", size, 1), filled(attributes, "dilations", size, 1),
          Dims(size, 0), Dims(size, 0)};
}

} // namespace

Window window_of(const AttributeMap& attributes, const Dims& kernel, const Shape& input,
                 const Shape& output) {
  Window w = unpadded(attributes, kernel);
  const Dims pads = filled(attributes, "pads", 2 * kernel.size(), 0);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t extent = (kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t total = (output[i + 2] - 1) * w.strides[i] + extent - input[i + 2];
    w.begin[i] = front(attributes, pads, i, total);
    w.end[i] =
        std::max<std::int64_t>(total - w.begin[i], 0); // Below 0 a stride leaves the last elements unread.
  }
  return w;
}

Window transposed_window_of(const AttributeMap& attributes, const Dims& kernel, const Shape& input,
                            const Shape& output) {
  Window w = unpadded(attributes, kernel);
  const std::size_t size = kernel.size();
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
