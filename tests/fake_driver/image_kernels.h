#pragma once
// The image kernels, pixel by pixel on the host.

#include <algorithm>
#include <functional>
#include <string>

#include "image/cuda/convert_kernel.h"
#include "image/cuda/preprocess_kernel.h"

namespace lanner::fake {

template<typename Reader>
void preprocess(const DevicePreprocess& p) {
  const int channels = p.gray ? 1 : 3;
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      float values[3];
      preprocess_pixel<Reader>(p, x, y, values);
      for (int c = 0; c < channels; ++c) {
        const int at = p.channels_last ? (y * p.width + x) * channels + c : (c * p.height + y) * p.width + x;
        if (p.dtype == 0) static_cast<float*>(p.out)[at] = values[c];
        if (p.dtype == 2)
          static_cast<unsigned char*>(p.out)[at] =
              static_cast<unsigned char>(std::clamp(values[c], 0.f, 255.f) + 0.5f);
      }
    }
}

inline void convert_pixels(const DeviceConvert& p) {
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      unsigned samples[3];
      convert_pixel(p, x, y, samples);
      for (int c = 0; c < p.parts; ++c) put(p.to, c, x, y, samples[c]);
    }
}

inline void convert_samples(const DeviceConvert& p) {
  for (int y = 0; y < p.to.components[1].height; ++y)
    for (int x = 0; x < p.to.components[1].width; ++x) convert_chroma(p, x, y);
}

/// The work of a kernel of this name, with its arguments kept; empty for other names.
inline std::function<void()> image_kernel(const std::string& name, void** arguments) {
  const auto with = [&]<typename Parameter>(void (*run)(const Parameter&)) {
    return [run, parameter = *static_cast<const Parameter*>(arguments[0])] { run(parameter); };
  };
  if (name == "lanner_preprocess_taps_1") return with(&preprocess<ByTaps<std::uint8_t>>);
  if (name == "lanner_preprocess_taps_2") return with(&preprocess<ByTaps<std::uint16_t>>);
  if (name == "lanner_preprocess_bilinear_1") return with(&preprocess<ByNeighbours<std::uint8_t>>);
  if (name == "lanner_preprocess_bilinear_2") return with(&preprocess<ByNeighbours<std::uint16_t>>);
  if (name == "lanner_convert_pixels") return with(&convert_pixels);
  if (name == "lanner_convert_chroma") return with(&convert_samples);
  return {};
}

} // namespace lanner::fake
