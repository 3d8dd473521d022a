#pragma once
// What one pass from a picture to a tensor needs, worked out once: the CPU's rows and the GPU's kernel read
// the same numbers.

#include <cstddef>
#include <cstdint>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "image/resample.h"
#include "image/row_kernels.h"

namespace lanner {

/// The target's pixels that show the picture, and how the turned region lies under them: target = turned *
/// scale + offset.
struct PreprocessTarget {
  std::int64_t width = 0, height = 0; ///< Of the whole target.
  std::int64_t x = 0, y = 0, columns = 0, rows = 0;
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
};

/// Samples along an axis of a plane of the source, as the target's outputs run along it: output i lies at
/// sample step * i + origin, counted from the other end where `mirrored`.
struct SampledAxis {
  Resize kind = Resize::bilinear;
  std::int64_t size = 0, inputs = 0; ///< Outputs, samples.
  double step = 1, origin = 0;
  bool mirrored = false;
  friend bool operator==(const SampledAxis&, const SampledAxis&) = default;
};

/// Both axes of both kinds of planes. Nearest chroma is that of the chosen pixel: log2 and the region's first
/// pixel among those that share a sample.
struct SampledAxes {
  SampledAxis luma_x, luma_y, chroma_x, chroma_y;
  int log2_x = 0, log2_y = 0, phase_x = 0, phase_y = 0;
  bool chroma = false;
  friend bool operator==(const SampledAxes&, const SampledAxes&) = default;
};

/// The taps of all axes; outputs in the target's order.
Sampling sampling_of(const SampledAxes& axes);

/// What all rows of one call share.
struct PreprocessPlan {
  const Preprocess& spec;
  Image source;          ///< A view of the region, its colour description without gaps.
  int quarter_turns = 0; ///< 0 to 3. When odd, the source's columns become the target's rows.
  PreprocessTarget target;
  SampledAxes axes;
  RowMatrix to_rgb;
  float scale[3], bias[3]; ///< From 0..255 to the tensor's value, by tensor channel.
  bool turned() const noexcept { return quarter_turns % 2 != 0; }
};

/// The part of `image` that `region` names, as a view of the same memory, with the colour description of the
/// whole and no gaps in it. Throws Error{invalid_argument} for a region beyond the picture.
Image region_view(const Image& image, const PixelRect& region);

/// Throws Error{invalid_argument} for a declaration that makes no sense.
PreprocessPlan preprocess_plan(const Image& image, const Preprocess& spec);

/// preprocess() on the host into one batch element of `spec`'s shape, type and order.
void preprocess_into(std::byte* element, const Image& image, const Preprocess& spec, int threads);

/// Throws Error{invalid_argument, unsupported} where a call of preprocess() makes no sense.
void check_preprocess(const Image& image, const Preprocess& spec, const Tensor& output,
                      std::int64_t batch_index);

} // namespace lanner
