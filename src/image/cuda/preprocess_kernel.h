#pragma once
// One output pixel of Preprocess, as the CUDA kernel computes it. Plain C++ too, so that it is tested without
// a GPU.

#include <cstdint>

#ifdef __CUDACC__
#define LANNER_HOST_DEVICE __host__ __device__
#else
#define LANNER_HOST_DEVICE
#endif

namespace lanner {

/// Taps of one axis (see Taps in image/resample.h): output i reads `count` samples from index[i] on.
struct DeviceTaps {
  const std::int32_t* index;
  const float* weights;             ///< [count][size]
  std::int32_t size, count, inputs; ///< `inputs` is the number of samples along the axis.
};

/// A component: where its samples lie in its plane.
struct DeviceComponent {
  const unsigned char* data;
  std::int64_t pitch; ///< Bytes a row.
  std::int32_t first, step, bytes;
  std::int32_t chroma; ///< 1 where the chroma taps sample it.
};

/// The kernel's only parameter. Values follow PreprocessPlan: RGB = matrix * samples + bias, clamped to
/// 0..255, then scaled by tensor channel.
struct DevicePreprocess {
  DeviceComponent components[3];
  DeviceTaps luma_x, luma_y, chroma_x, chroma_y;
  float matrix[3][3], bias[3];
  float scale[3], offset[3], pad;
  std::int32_t width, height;       ///< Of the target.
  std::int32_t x, y, columns, rows; ///< The part of it that shows the picture.
  std::int32_t turned;              ///< 1 where the source's columns are the target's rows.
  std::int32_t bgr, gray, channels_last;
  std::int32_t dtype; ///< 0 f32, 1 f16, 2 u8, 3 bf16
  void* out;
};

/// Weighted sum of a component's samples under output (x, y).
LANNER_HOST_DEVICE inline float sampled(const DeviceComponent& component, const DeviceTaps& across,
                                        const DeviceTaps& down, int x, int y) {
  float sum = 0;
  for (int j = 0; j < down.count; ++j) {
    const float row_weight = down.weights[j * down.size + y];
    int row = down.index[y] + j;
    row = row < down.inputs ? row : down.inputs - 1;
    const unsigned char* line = component.data + row * component.pitch;
    float partial = 0;
    for (int i = 0; i < across.count; ++i) {
      int column = across.index[x] + i;
      column = column < across.inputs ? column : across.inputs - 1;
      const std::int64_t sample = component.first + static_cast<std::int64_t>(column) * component.step;
      const float value = component.bytes == 1
                              ? static_cast<float>(line[sample])
                              : static_cast<float>(reinterpret_cast<const std::uint16_t*>(line)[sample]);
      partial += across.weights[i * across.size + x] * value;
    }
    sum += row_weight * partial;
  }
  return sum;
}

LANNER_HOST_DEVICE inline float clamped(float value) {
  return value < 0.f ? 0.f : value > 255.f ? 255.f : value;
}

/// Tensor values of target pixel (x, y), in the tensor's channel order; one value where the tensor is gray.
LANNER_HOST_DEVICE inline void preprocess_pixel(const DevicePreprocess& p, int x, int y, float values[3]) {
  float rgb[3] = {p.pad, p.pad, p.pad};
  const int column = x - p.x, row = y - p.y;
  if (column >= 0 && column < p.columns && row >= 0 && row < p.rows) {
    const int across = p.turned ? row : column, down = p.turned ? column : row;
    float in[3];
    for (int c = 0; c < 3; ++c) {
      const bool chroma = p.components[c].chroma != 0;
      in[c] = sampled(p.components[c], chroma ? p.chroma_x : p.luma_x, chroma ? p.chroma_y : p.luma_y, across,
                      down);
    }
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
