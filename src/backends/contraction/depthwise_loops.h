#pragma once
// Rows of depthwise convolutions, over the vectors of block_vectors.h.

#include "backends/contraction/block.h"
#include "backends/contraction/block_vectors.h"

namespace lanner::LANNER_SIMD {

/// The sums of neighbouring pixels.
template<int pixels>
struct PixelSums {
  F low[pixels] = {}, high[pixels] = {};

  void store_at(float* to) const {
#pragma GCC unroll 8
    for (int p = 0; p < pixels; ++p) {
      store(to + p * block_width, low[p]);
      store(to + p * block_width + lanes, high[p]);
    }
  }
};

template<int pixels>
void depthwise_pixels(const DepthwiseRow& d, std::int64_t first) {
  PixelSums<pixels> sums;
  const float* weights = d.weights;
  for (std::int64_t y = 0; y < d.kernel_height; ++y) {
    const float* from = d.rows[y] + first * d.stride;
    for (std::int64_t x = 0; x < d.kernel_width; ++x, from += d.dilation, weights += block_width) {
      const F left = load(weights), right = load(weights + lanes);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        sums.low[p] = multiply_add(load(from + p * d.stride), left, sums.low[p]);
        sums.high[p] = multiply_add(load(from + p * d.stride + lanes), right, sums.high[p]);
      }
    }
  }
  sums.store_at(d.sums + first * block_width);
}

/// The same without dilation for kernels and strides known here: each pixel of x is loaded once for all
/// results that it is part of.
template<int pixels, int kernel, int stride>
void depthwise_pixels_of(const DepthwiseRow& d, std::int64_t first) {
  PixelSums<pixels> sums;
  const float* weights = d.weights;
  for (std::int64_t y = 0; y < d.kernel_height; ++y, weights += kernel * block_width) {
    const float* from = d.rows[y] + first * stride * block_width;
#pragma GCC unroll 32
    for (int x = 0; x < (pixels - 1) * stride + kernel; ++x) {
      const F left = load(from + x * block_width), right = load(from + x * block_width + lanes);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        const int tap = x - p * stride;
        if (tap < 0 || tap >= kernel) continue;
        sums.low[p] = multiply_add(left, load(weights + tap * block_width), sums.low[p]);
        sums.high[p] = multiply_add(right, load(weights + tap * block_width + lanes), sums.high[p]);
      }
    }
  }
  sums.store_at(d.sums + first * block_width);
}

/// Calls `some<pixels>(first)` for all pixels of a row.
template<typename Four, typename Three, typename Two, typename One>
void each_four(std::int64_t pixels, Four four, Three three, Two two, One one) {
  std::int64_t pixel = 0;
  for (; pixel + 4 <= pixels; pixel += 4) four(pixel);
  if (pixels - pixel == 3) three(pixel);
  if (pixels - pixel == 2) two(pixel);
  if (pixels - pixel == 1) one(pixel);
}

template<int kernel, int stride>
void depthwise_row_of(const DepthwiseRow& d) {
  each_four(
      d.pixels, [&](std::int64_t first) { depthwise_pixels_of<4, kernel, stride>(d, first); },
      [&](std::int64_t first) { depthwise_pixels_of<3, kernel, stride>(d, first); },
      [&](std::int64_t first) { depthwise_pixels_of<2, kernel, stride>(d, first); },
      [&](std::int64_t first) { depthwise_pixels_of<1, kernel, stride>(d, first); });
}

inline void depthwise(const DepthwiseRow& row) {
  const DepthwiseRow d = row;
  const bool dense = d.dilation == block_width;
  const auto is = [&](std::int64_t kernel, std::int64_t stride) {
    return dense && d.kernel_width == kernel && d.stride == stride * block_width;
  };
  if (is(3, 1)) return depthwise_row_of<3, 1>(d);
  if (is(3, 2)) return depthwise_row_of<3, 2>(d);
  if (is(5, 1)) return depthwise_row_of<5, 1>(d);
  if (is(5, 2)) return depthwise_row_of<5, 2>(d);
  each_four(
      d.pixels, [&](std::int64_t first) { depthwise_pixels<4>(d, first); },
      [&](std::int64_t first) { depthwise_pixels<3>(d, first); },
      [&](std::int64_t first) { depthwise_pixels<2>(d, first); },
      [&](std::int64_t first) { depthwise_pixels<1>(d, first); });
}

template<bool is_signed>
void to_floats_as(const BytePixels& pixels, float* out) {
  const BytePixels p = pixels;
  const F zero = splat(static_cast<float>(p.zero));
  std::int64_t pixel = 0;
  if (p.channels == block_width)
    for (; pixel < p.pixels; ++pixel, out += block_width) {
      const std::byte* from = p.from + pixel * p.stride;
      store(out, floats_of<is_signed>(from) - zero);
      store(out + lanes, floats_of<is_signed>(from + lanes) - zero);
    }
  float ones[block_width];
  for (std::int64_t c = 0; c < block_width; ++c) ones[c] = c < p.channels ? 1.0F : 0.0F;
  const F low = load(ones), high = load(ones + lanes);
  const std::byte* const end = p.from + (p.pixels - 1) * p.stride + p.channels;
  for (; pixel < p.pixels; ++pixel, out += block_width) {
    const std::byte* from = p.from + pixel * p.stride;
    std::byte last[block_width] = {};
    if (end - from < block_width) { // Fewer bytes than whole vectors are left.
      std::memcpy(last, from, static_cast<std::size_t>(p.channels));
      from = last;
    }
    store(out, (floats_of<is_signed>(from) - zero) * low);
    store(out + lanes, (floats_of<is_signed>(from + lanes) - zero) * high);
  }
}

inline void to_floats(const BytePixels& pixels, float* out) {
  pixels.is_signed ? to_floats_as<true>(pixels, out) : to_floats_as<false>(pixels, out);
}

} // namespace lanner::LANNER_SIMD
