#pragma once
// The image kernels, pixel by pixel on the host.

#include <algorithm>
#include <functional>
#include <string>

#include "image/cuda/convert_kernel.h"
#include "image/cuda/preprocess_kernel.h"
#include "image/cuda/turn_kernel.h"
#include "tensor/float16.h"

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
        if (p.dtype == 1) static_cast<std::uint16_t*>(p.out)[at] = float_to_half(values[c]);
        if (p.dtype == 2)
          static_cast<unsigned char*>(p.out)[at] =
              static_cast<unsigned char>(std::clamp(values[c], 0.f, 255.f) + 0.5f);
      }
    }
}

template<template<typename> typename Reader>
void pictures(const DevicePictures& all, int count) {
  for (int n = 0; n < count; ++n) {
    DevicePreprocess p;
    take_picture(all, n, p);
    if (p.components[0].bytes == 2)
      preprocess<Reader<std::uint16_t>>(p);
    else
      preprocess<Reader<std::uint8_t>>(p);
  }
}

inline void convert_pixels(const DeviceConvert& p) {
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) {
      unsigned samples[3];
      convert_pixel(p, x, y, samples);
      for (int c = 0; c < p.parts; ++c) put(p.to, c, x, y, samples[c]);
      if (p.pixel == 4)
        p.to.components[0].data[y * p.to.components[0].pitch + 4ll * x + 3] = alpha_under(p, x, y);
    }
}

inline void convert_samples(const DeviceConvert& p) {
  for (int y = 0; y < p.to.components[1].height; ++y)
    for (int x = 0; x < p.to.components[1].width; ++x) convert_chroma(p, x, y);
}

inline void turn_plane(const TurnedPlane& p) {
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) turn_pixel(p, x, y);
}

/// The work of a kernel of this name, with its arguments kept; empty for other names. `layers`: of its grid.
inline std::function<void()> image_kernel(const std::string& name, void** arguments, unsigned layers) {
  const auto with = [&]<typename Parameter>(void (*run)(const Parameter&)) {
    return [run, parameter = *static_cast<const Parameter*>(arguments[0])] { run(parameter); };
  };
  if (name == "lanner_preprocess_taps_1") return with(&preprocess<ByTaps<std::uint8_t>>);
  if (name == "lanner_preprocess_taps_2") return with(&preprocess<ByTaps<std::uint16_t>>);
  if (name == "lanner_preprocess_bilinear_1") return with(&preprocess<ByNeighbours<std::uint8_t>>);
  if (name == "lanner_preprocess_bilinear_2") return with(&preprocess<ByNeighbours<std::uint16_t>>);
  const auto batch = [&](void (*run)(const DevicePictures&, int)) {
    return [run, count = static_cast<int>(layers), all = *static_cast<const DevicePictures*>(arguments[0])] {
      run(all, count);
    };
  };
  if (name == "lanner_pictures_taps") return batch(&pictures<ByTaps>);
  if (name == "lanner_pictures_bilinear") return batch(&pictures<ByNeighbours>);
  if (name == "lanner_convert_pixels") return with(&convert_pixels);
  if (name == "lanner_convert_chroma") return with(&convert_samples);
  if (name == "lanner_turn_plane") return with(&turn_plane);
  return {};
}

} // namespace lanner::fake
