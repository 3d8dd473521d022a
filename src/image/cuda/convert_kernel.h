#pragma once
// One pixel, or one chroma sample with its pixels, of a conversion between two images, as the CUDA kernels
// compute it. Plain C++ too, so that it is tested without a GPU.

#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner {

/// A component of an image: where its samples are in its plane.
struct ConvertComponent {
  unsigned char* data;
  std::int64_t pitch;
  std::int32_t first, step;
  std::int32_t width, height; ///< Size of the plane.
};

/// An image in the form that the kernels read.
struct ConvertImage {
  ConvertComponent components[3];
  std::int32_t bytes;              ///< Bytes of a sample.
  std::int32_t chroma_x, chroma_y; ///< log2 of the subsampling.
  std::int32_t siting_x, siting_y; ///< Twice the luma coordinate of the first chroma sample.
};

/// The kernels' only parameter. Codes of the target = matrix * stored samples + bias, then rounded, clamped
/// to 0..top and multiplied by `unit`.
struct DeviceConvert {
  ConvertImage from, to;
  float matrix[3][3], bias[3];
  float top;
  std::int32_t unit;
  std::int32_t width, height;
  std::int32_t parts;       ///< Components of a target without chroma, 1 or 3.
  std::int32_t pixel;       ///< Bytes of its pixel where interleaved, else 0.
  std::int32_t words;       ///< 1 where its rows begin at words of 4 bytes.
  std::int32_t same_chroma; ///< 1 where chroma samples stay where they are.
  ConvertComponent alpha;   ///< Alpha of the source; no data where it is opaque.
  std::int32_t alpha_bytes;
  std::uint32_t alpha_top; ///< The value of opaque.
};

LANNER_HOST_DEVICE inline int inside(int i, int size) {
  return i < 0 ? 0 : i < size ? i : size - 1;
}

LANNER_HOST_DEVICE inline float stored(const ConvertImage& image, int c, int x, int y) {
  const ConvertComponent& component = image.components[c];
  const unsigned char* row = component.data + inside(y, component.height) * component.pitch;
  const std::int64_t at =
      component.first + static_cast<std::int64_t>(inside(x, component.width)) * component.step;
  return image.bytes == 1 ? static_cast<float>(row[at])
                          : static_cast<float>(reinterpret_cast<const std::uint16_t*>(row)[at]);
}

/// Position of pixel `i` among chroma samples: the one before it, and the weight of the next.
struct ChromaPosition {
  int before;
  float weight;
};
LANNER_HOST_DEVICE inline ChromaPosition chroma_position(int i, int log2, int siting) {
  if (log2 == 0) return {i, 0.f};
  const int quarters = 2 * i - siting;
  return {quarters >> 2, static_cast<float>(quarters & 3) * 0.25f};
}

/// Chroma of the source at pixel (x, y), interpolated by a triangle.
LANNER_HOST_DEVICE inline float chroma_under(const ConvertImage& image, int c, const ChromaPosition& x,
                                             const ChromaPosition& y) {
  float sum = 0;
  for (int j = 0; j < 2; ++j) {
    const float weight = j ? y.weight : 1 - y.weight;
    if (weight == 0) continue;
    float row = (1 - x.weight) * stored(image, c, x.before, y.before + j);
    if (x.weight != 0) row += x.weight * stored(image, c, x.before + 1, y.before + j);
    sum += weight * row;
  }
  return sum;
}

/// The three stored samples at pixel (x, y), which is inside.
LANNER_HOST_DEVICE inline void samples_under(const ConvertImage& image, int x, int y, float in[3]) {
  in[0] = stored(image, 0, x, y);
  const ChromaPosition across = chroma_position(x, image.chroma_x, image.siting_x),
                       down = chroma_position(y, image.chroma_y, image.siting_y);
  for (int c = 1; c < 3; ++c) in[c] = chroma_under(image, c, across, down);
}

LANNER_HOST_DEVICE inline float row_of(const DeviceConvert& p, int c, const float in[3]) {
  return p.matrix[c][0] * in[0] + p.matrix[c][1] * in[1] + p.matrix[c][2] * in[2] + p.bias[c];
}

/// A code rounded to a stored sample of the target.
LANNER_HOST_DEVICE inline unsigned rounded(const DeviceConvert& p, float code) {
  code = code < 0.f ? 0.f : code > p.top ? p.top : code;
  return static_cast<unsigned>(code + 0.5f) * static_cast<unsigned>(p.unit);
}

LANNER_HOST_DEVICE inline void put(const ConvertImage& image, int c, int x, int y, unsigned sample) {
  const ConvertComponent& component = image.components[c];
  unsigned char* row = component.data + y * component.pitch;
  const std::int64_t at = component.first + static_cast<std::int64_t>(x) * component.step;
  if (image.bytes == 1)
    row[at] = static_cast<unsigned char>(sample);
  else
    reinterpret_cast<std::uint16_t*>(row)[at] = static_cast<std::uint16_t>(sample);
}

/// Stored samples of pixel (x, y) of a target without chroma, in the order R, G, B.
LANNER_HOST_DEVICE inline void convert_pixel(const DeviceConvert& p, int x, int y, unsigned samples[3]) {
  float in[3];
  samples_under(p.from, x, y, in);
  for (int c = 0; c < p.parts; ++c) samples[c] = rounded(p, row_of(p, c, in));
}

/// Opacity of pixel (x, y), which is inside, as a byte.
LANNER_HOST_DEVICE inline unsigned char alpha_under(const DeviceConvert& p, int x, int y) {
  if (!p.alpha.data) return 255;
  const unsigned char* row = p.alpha.data + y * p.alpha.pitch;
  const std::int64_t at = static_cast<std::int64_t>(x) * p.alpha.step;
  if (p.alpha_bytes == 1) return row[at];
  const unsigned sample = reinterpret_cast<const std::uint16_t*>(row)[at];
  return static_cast<unsigned char>((sample * 255u + p.alpha_top / 2) / p.alpha_top);
}

/// Taps along one axis for chroma sample `i`: 1, 2 or 3 neighbours from `first` on.
struct ChromaTaps {
  int first, count;
  float weights[3];
};
LANNER_HOST_DEVICE inline ChromaTaps chroma_taps(int i, int log2, int siting) {
  if (log2 == 0) return {i, 1, {1.f, 0.f, 0.f}};
  if (siting == 1) return {2 * i, 2, {0.5f, 0.5f, 0.f}};
  return {2 * i + siting / 2 - 1, 3, {0.25f, 0.5f, 0.25f}};
}

/// Writes chroma sample (x, y) of the target and the luma of its pixels.
LANNER_HOST_DEVICE inline void convert_chroma(const DeviceConvert& p, int x, int y) {
  float in[3];
  for (int j = 0; j < 1 << p.to.chroma_y; ++j)
    for (int i = 0; i < 1 << p.to.chroma_x; ++i) {
      const int column = (x << p.to.chroma_x) + i, row = (y << p.to.chroma_y) + j;
      if (column >= p.width || row >= p.height) continue;
      if (p.same_chroma)
        in[0] = stored(p.from, 0, column, row), in[1] = in[2] = 0.f;
      else
        samples_under(p.from, column, row, in);
      put(p.to, 0, column, row, rounded(p, row_of(p, 0, in)));
    }
  float sum[3] = {0.f, 0.f, 0.f};
  if (p.same_chroma) {
    for (int c = 1; c < 3; ++c) sum[c] = stored(p.from, c, x, y);
  } else {
    const ChromaTaps across = chroma_taps(x, p.to.chroma_x, p.to.siting_x),
                     down = chroma_taps(y, p.to.chroma_y, p.to.siting_y);
    for (int j = 0; j < down.count; ++j)
      for (int i = 0; i < across.count; ++i) {
        samples_under(p.from, inside(across.first + i, p.width), inside(down.first + j, p.height), in);
        for (int c = 0; c < 3; ++c) sum[c] += down.weights[j] * across.weights[i] * in[c];
      }
  }
  for (int c = 1; c < 3; ++c) put(p.to, c, x, y, rounded(p, row_of(p, c, sum)));
}

} // namespace lanner
