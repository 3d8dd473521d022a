#pragma once
// One result of roi_align, as in the kernels of rois.cu: computed in double, as in its definition. Plain C++
// too, so that it is tested without a GPU.

#include <cmath>
#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner::cuda {

struct RoiParameters {
  std::int64_t images = 0, channels = 0;
  std::int64_t source[4] = {}; ///< Strides of the images.
  int height = 0, width = 0;   ///< Of an image.
  int rows = 0, columns = 0;   ///< Bins of a region.
  int ratio = 0;               ///< Samples per bin and axis; 0: one per pixel.
  double scale = 1;
  bool half_pixel = true, average = true;
};

/// Start and extent of a region's bins along one axis, in pixels.
struct RoiExtent {
  double start, size;
  int samples;
};

LANNER_HOST_DEVICE inline RoiExtent roi_extent(const RoiParameters& p, double first, double last, int bins,
                                               int bin) {
  RoiExtent extent;
  extent.start = first * p.scale - (p.half_pixel ? 0.5 : 0.0);
  extent.size = (last - first) * p.scale;
  if (!p.half_pixel && extent.size < 1) extent.size = 1;
  extent.size /= bins;
  extent.start += bin * extent.size;
  const double asked = p.ratio > 0 ? p.ratio : ceil(extent.size);
  extent.samples = asked > 0 ? static_cast<int>(asked < 4096.0 ? asked : 4096.0) : 0;
  return extent;
}

LANNER_HOST_DEVICE inline double larger_or_nan(double a, double b) {
  return b > a || b != b ? b : a;
}

/// The interpolated value of a sample, and the largest of its four weighted pixels.
struct RoiSample {
  double sum = 0, most = 0;
};

template<typename Load>
LANNER_HOST_DEVICE RoiSample roi_sample(const RoiParameters& p, double y, double x, Load load) {
  RoiSample sample;
  // A NaN position counts as outside, as does every position of an empty plane.
  if (!(y >= -1 && y <= p.height && x >= -1 && x <= p.width && p.height > 0 && p.width > 0)) return sample;
  y = y < 0 ? 0 : y > p.height - 1 ? p.height - 1 : y;
  x = x < 0 ? 0 : x > p.width - 1 ? p.width - 1 : x;
  const int top = static_cast<int>(y), left = static_cast<int>(x);
  const int bottom = top + 1 < p.height ? top + 1 : p.height - 1;
  const int right = left + 1 < p.width ? left + 1 : p.width - 1;
  const double dy = y - top, dx = x - left;
  const double shares[4] = {(1 - dy) * (1 - dx) * load(top, left), (1 - dy) * dx * load(top, right),
                            dy * (1 - dx) * load(bottom, left), dy * dx * load(bottom, right)};
  sample.most = -INFINITY;
  for (const double share : shares) {
    sample.sum += share;
    sample.most = larger_or_nan(sample.most, share);
  }
  return sample;
}

/// The value of one bin of one region. `load(offset)` returns an element of the images. A batch index out of
/// range, which the definition rejects, gives NaN.
template<typename Load>
LANNER_HOST_DEVICE double roi_bin(const RoiParameters& p, const float* box, std::int64_t image,
                                  std::int64_t channel, int row, int column, Load load) {
  if (image < 0 || image >= p.images) return NAN;
  const RoiExtent ys = roi_extent(p, box[1], box[3], p.rows, row);
  const RoiExtent xs = roi_extent(p, box[0], box[2], p.columns, column);
  if (ys.samples == 0 || xs.samples == 0) return 0;
  const std::int64_t plane = image * p.source[0] + channel * p.source[1];
  const auto at = [&](int y, int x) {
    return static_cast<double>(load(plane + y * p.source[2] + x * p.source[3]));
  };
  double sum = 0, most = -INFINITY;
  for (int i = 0; i < ys.samples; ++i)
    for (int k = 0; k < xs.samples; ++k) {
      const RoiSample sample = roi_sample(p, ys.start + (i + 0.5) * ys.size / ys.samples,
                                          xs.start + (k + 0.5) * xs.size / xs.samples, at);
      sum += sample.sum;
      most = larger_or_nan(most, sample.most);
    }
  return p.average ? sum / (static_cast<double>(ys.samples) * xs.samples) : most;
}

} // namespace lanner::cuda
