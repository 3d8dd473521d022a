#pragma once
// Weights of separable resampling, and row sampling with them.

#include <cstdint>
#include <vector>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "image/row_kernels.h"

namespace lanner {

/// For each of `size` outputs along one axis: `count` neighbouring input samples from index[i] on, with
/// weights. The border sample is repeated beyond the border; unused weights are zero.
struct Taps {
  std::int64_t size = 0;
  int count = 1;
  std::vector<std::int32_t> index;
  std::vector<float> weights; ///< [count][size].
};

/// Output i is centred at input sample `step * i + origin` (sample k has its centre at k).
///
/// nearest: the sample whose unit cell contains the centre, including the cell's first edge. bilinear: a
/// triangle of radius 1. bicubic: Keys' kernel with a = -0.75, radius 2. area: the mean over `step` samples
/// about the centre. antialias: a triangle of radius max(1, step), normalised over the samples that exist;
/// antialias_cubic (Keys' kernel with a = -0.5, radius 2) and antialias_lanczos (radius 3) widen and are
/// normalised in the same way.
Taps make_taps(Resize kind, std::int64_t size, double step, double origin, std::int64_t inputs);

/// Taps of the chroma axis where each output takes the chroma sample of the pixel that `luma` chose; `phase`
/// is that of the first pixel.
Taps nearest_chroma(const Taps& luma, int log2, int phase = 0);

/// The same taps over inputs counted from the other end.
Taps mirrored(Taps taps, std::int64_t inputs);

/// How an image is sampled along both axes; luma also stands for RGB and gray.
struct Sampling {
  Taps luma_x, luma_y, chroma_x, chroma_y;
};

/// Reads sampled rows of one image: one per thread, with a shared Sampling.
class RowSampler {
public:
  RowSampler(const Image& image, const Sampling& sampling, const RowKernels& kernels);
  /// Components of output row `y`, as stored sample values: `rows[c]` takes luma_x.size floats.
  void read(std::int64_t y, float* const rows[3]);

private:
  static void fetch_ahead(const Plane& from, std::int64_t begin, std::int64_t end, std::int64_t bytes);
  void blend(int plane, const Taps& taps, std::int64_t y, float* out);

  const Image& image_;
  const Sampling& sampling_;
  const RowKernels& kernels_;
  std::vector<std::int32_t> plane_index_[3]; ///< Horizontal index in samples of the plane's row.
  bool luma_in_place_ = false, chroma_in_place_ = false;
  std::vector<float> blended_;
  std::vector<const std::uint8_t*> rows_;
  std::vector<float> weights_;
};

} // namespace lanner
