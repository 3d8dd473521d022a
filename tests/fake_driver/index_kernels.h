#pragma once
// The kernels that pick and put elements by index and align regions, result by result on the host.

#include <cstdint>
#include <functional>
#include <string>

#include "backends/cuda/index_kernel.h"
#include "backends/cuda/roi_kernel.h"

namespace lanner::fake {

/// Of a kernel with parameters (data, indices, out, count, p), whose arguments are kept.
template<typename T, typename Parameters>
std::function<void()> by_index(void** arguments,
                               void (*run)(const T*, const void*, T*, std::int64_t, const Parameters&)) {
  return [=, data = *static_cast<const T**>(arguments[0]), indices = *static_cast<const void**>(arguments[1]),
          out = *static_cast<T**>(arguments[2]), count = *static_cast<std::int64_t*>(arguments[3]),
          p = *static_cast<const Parameters*>(arguments[4])] {
    for (std::int64_t i = 0; i < count; ++i) run(data, indices, out, i, p);
  };
}

inline std::function<void()> aligned_regions(void** arguments) {
  return [images = *static_cast<const float**>(arguments[0]),
          boxes = *static_cast<const float**>(arguments[1]),
          numbers = *static_cast<const std::int64_t**>(arguments[2]),
          out = *static_cast<float**>(arguments[3]), count = *static_cast<std::int64_t*>(arguments[4]),
          p = *static_cast<const cuda::RoiParameters*>(arguments[5])] {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t plane = i / p.columns / p.rows, region = plane / p.channels;
      out[i] = static_cast<float>(cuda::roi_bin(p, boxes + region * 4, numbers[region], plane % p.channels,
                                                static_cast<int>(i / p.columns % p.rows),
                                                static_cast<int>(i % p.columns),
                                                [&](std::int64_t offset) { return images[offset]; }));
    }
  };
}

/// The work of a kernel of this name; empty for other names.
inline std::function<void()> index_kernel(const std::string& name, void** arguments) {
  using Word = std::uint32_t;
  if (name == "gather_4") return by_index<Word>(arguments, &cuda::gather_element<Word>);
  if (name == "gather_places_4") return by_index<Word>(arguments, &cuda::gather_place<Word>);
  if (name == "scatter_lines_4") return by_index<Word>(arguments, &cuda::scatter_line<Word>);
  if (name == "roi_align_f32") return aligned_regions(arguments);
  return {};
}

} // namespace lanner::fake
