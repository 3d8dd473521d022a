#include "backends/convolution/convolution_window.h"

#include <algorithm>

namespace lanner {

ops::Window window_of(const AttributeMap& attributes, const Shape& input, const Shape& output,
                      std::span<const std::int64_t> kernel) {
  const auto sizes = [](const Shape& shape) { return std::span(shape.dims()).subspan(2); };
  return ops::resolve_window(ops::WindowAttributes::read(attributes, kernel.size()), sizes(input),
                             sizes(output), kernel);
}

std::vector<std::int64_t> end_padding(const ops::Window& w) {
  std::vector<std::int64_t> at_end;
  for (std::size_t i = 0; i < w.begin.size(); ++i) {
    const std::int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t needed = (w.positions[i] - 1) * w.strides[i] + extent - w.image[i] - w.begin[i];
    at_end.push_back(std::max<std::int64_t>(needed, 0));
  }
  return at_end;
}

} // namespace lanner
