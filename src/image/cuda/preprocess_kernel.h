#pragma once
// One output pixel of Preprocess, as the CUDA kernel computes it. Plain C++ too, so that it is tested without
// a GPU.

#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner {

/// An axis: as taps (see Taps in image/resample.h: output i reads `count` samples from index[i] on), and, for
/// bilinear sampling, as parameters (see SampledAxis in image/preprocess_plan.h) in fixed point with 32 bits
/// before and after the point.
struct DeviceAxis {
  const std::int32_t* index;
  const float* weights; ///< [count][size]
  std::int32_t size, count;
  std::int32_t inputs; ///< Samples along the axis.
  std::int32_t mirrored;
  std::int64_t step, origin;
};

/// A component: where its samples are in its plane.
struct DeviceComponent {
  const unsigned char* data;
  std::int64_t pitch; ///< Bytes from row to row.
  std::int32_t first, step, bytes;
  std::int32_t chroma; ///< 1 where the chroma axes sample it.
};

/// The kernel's only parameter. Values follow PreprocessPlan: RGB = matrix * samples + bias, clamped to
/// 0..255, then scaled by tensor channel.
struct DevicePreprocess {
  DeviceComponent components[3];
  DeviceAxis luma_x, luma_y, chroma_x, chroma_y;
  float matrix[3][3], bias[3];
  float scale[3], offset[3], pad;
  std::int32_t width, height;       ///< Size of the target.
  std::int32_t x, y, columns, rows; ///< The part of the target that shows the picture.
  std::int32_t swapped;             ///< 1 where the source's columns are the target's rows.
  std::int32_t bgr, gray, channels_last;
  std::int32_t dtype; ///< 0 f32, 1 f16, 2 u8, 3 bf16
  std::int32_t words; ///< 1 where rows of a channels_last tensor are whole, aligned words of 4 bytes.
  void* out;
};

/// One picture of several, prepared by the host.
struct DevicePicture {
  std::uint64_t seal; ///< Proves which process made it: see picture_seal() in image/picture_record.h.
  DevicePreprocess parameters;
};

/// The only parameter of the kernel for several pictures: what they share.
struct DevicePictures {
  const unsigned char* pictures; ///< A DevicePicture every `pitch` bytes.
  std::int64_t pitch;
  std::uint64_t seal;
  void* out;
  std::int64_t element; ///< Bytes from one picture's result to the next.
  std::int32_t width, height, dtype, channels_last, words;
};

/// The kernel's parameter for picture `n`; without a valid seal the whole output is padding.
LANNER_HOST_DEVICE inline void take_picture(const DevicePictures& all, int n, DevicePreprocess& p) {
  const auto& one = *reinterpret_cast<const DevicePicture*>(all.pictures + n * all.pitch);
  p = one.parameters;
  if (one.seal != all.seal) p.columns = p.rows = 0;
  p.width = all.width, p.height = all.height;
  p.dtype = all.dtype, p.channels_last = all.channels_last, p.words = all.words;
  p.out = static_cast<unsigned char*>(all.out) + n * all.element;
}

template<typename Sample>
LANNER_HOST_DEVICE inline float sample_of(const DeviceComponent& component, int x, int y) {
  const auto* row = reinterpret_cast<const Sample*>(component.data + y * component.pitch);
  return static_cast<float>(row[component.first + static_cast<std::int64_t>(x) * component.step]);
}

/// Weighted sum of a component's samples by the taps of output (x, y).
template<typename Sample>
LANNER_HOST_DEVICE inline float sampled(const DeviceComponent& component, const DeviceAxis& across,
                                        const DeviceAxis& down, int x, int y) {
  float sum = 0;
  for (int j = 0; j < down.count; ++j) {
    const int row = down.index[y] + j;
    float partial = 0;
    for (int i = 0; i < across.count; ++i)
      partial += across.weights[i * across.size + x] * sample_of<Sample>(component, across.index[x] + i, row);
    sum += down.weights[j * down.size + y] * partial;
  }
  return sum;
}

/// Two neighbours of bilinear sampling, and the weight of the second.
struct Neighbours {
  int first, second;
  float weight;
};

LANNER_HOST_DEVICE inline Neighbours neighbours_of(const DeviceAxis& axis, int i) {
  const std::int64_t position = axis.origin + i * axis.step;
  const int before = static_cast<int>(position >> 32), last = axis.inputs - 1;
  int first = before < 0 ? 0 : before > last ? last : before;
  int second = before < -1 ? 0 : before + 1 > last ? last : before + 1;
  if (axis.mirrored) first = last - first, second = last - second;
  return {first, second, static_cast<float>(static_cast<std::uint32_t>(position)) * 0x1p-32f};
}

LANNER_HOST_DEVICE inline float between(float a, float b, float weight) {
  return a + weight * (b - a);
}

template<typename Sample>
LANNER_HOST_DEVICE inline float bilinear(const DeviceComponent& component, const Neighbours& x,
                                         const Neighbours& y) {
  const float above = between(sample_of<Sample>(component, x.first, y.first),
                              sample_of<Sample>(component, x.second, y.first), x.weight);
  const float below = between(sample_of<Sample>(component, x.first, y.second),
                              sample_of<Sample>(component, x.second, y.second), x.weight);
  return between(above, below, y.weight);
}

LANNER_HOST_DEVICE inline float clamped(float value) {
  return value < 0.f ? 0.f : value > 255.f ? 255.f : value;
}

/// Samples of the three components at output (x, y) along the source's axes.
template<typename Sample>
struct ByTaps {
  LANNER_HOST_DEVICE static void read(const DevicePreprocess& p, int x, int y, float in[3]) {
    for (int c = 0; c < 3; ++c) {
      const bool chroma = p.components[c].chroma != 0;
      in[c] = sampled<Sample>(p.components[c], chroma ? p.chroma_x : p.luma_x, chroma ? p.chroma_y : p.luma_y,
                              x, y);
    }
  }
};
template<typename Sample>
struct ByNeighbours {
  LANNER_HOST_DEVICE static void read(const DevicePreprocess& p, int x, int y, float in[3]) {
    Neighbours across = neighbours_of(p.luma_x, x), down = neighbours_of(p.luma_y, y);
    in[0] = bilinear<Sample>(p.components[0], across, down);
    if (p.components[1].chroma) across = neighbours_of(p.chroma_x, x), down = neighbours_of(p.chroma_y, y);
    in[1] = bilinear<Sample>(p.components[1], across, down);
    in[2] = bilinear<Sample>(p.components[2], across, down);
  }
};

/// Tensor values of target pixel (x, y), in the tensor's channel order; one value where the tensor is gray.
template<typename Reader>
LANNER_HOST_DEVICE inline void preprocess_pixel(const DevicePreprocess& p, int x, int y, float values[3]) {
  float rgb[3] = {p.pad, p.pad, p.pad};
  const int column = x - p.x, row = y - p.y;
  if (column >= 0 && column < p.columns && row >= 0 && row < p.rows) {
    float in[3];
    Reader::read(p, p.swapped ? row : column, p.swapped ? column : row, in);
    for (int c = 0; c < 3; ++c)
      rgb[c] = clamped(p.matrix[c][0] * in[0] + p.matrix[c][1] * in[1] + p.matrix[c][2] * in[2] + p.bias[c]);
  }
  if (p.gray) {
    values[0] = clamped(0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]) * p.scale[0] + p.offset[0];
    return;
  }
  for (int c = 0; c < 3; ++c) values[c] = rgb[p.bgr ? 2 - c : c] * p.scale[c] + p.offset[c];
}

} // namespace lanner
