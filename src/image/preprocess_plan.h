#pragma once
// Parameters of one pass from a picture to a tensor, computed once: the CPU's rows and the GPU's kernel read
// the same numbers.

#include <cstddef>
#include <cstdint>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "image/resample.h"
#include "image/row_kernels.h"

namespace lanner {

/// The target's pixels that show the picture, and how the rotated region maps to them: target = rotated *
/// scale + offset.
struct PreprocessTarget {
  std::int64_t width = 0, height = 0; ///< Size of the whole target.
  std::int64_t x = 0, y = 0, columns = 0, rows = 0;
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
};

/// Sampling along an axis of a source plane, in the order of the target's outputs: output i is at sample
/// step * i + origin, counted from the other end where `mirrored`.
struct SampledAxis {
  Resize kind = Resize::bilinear;
  std::int64_t size = 0, inputs = 0; ///< Outputs, samples.
  double step = 1, origin = 0;
  bool mirrored = false;
  friend bool operator==(const SampledAxis&, const SampledAxis&) = default;
};

/// Both axes of luma and chroma planes. Nearest chroma is that of the chosen pixel: log2, and the position of
/// the region's first pixel among those that share a sample.
struct SampledAxes {
  SampledAxis luma_x, luma_y, chroma_x, chroma_y;
  int log2_x = 0, log2_y = 0, phase_x = 0, phase_y = 0;
  bool chroma = false;
  friend bool operator==(const SampledAxes&, const SampledAxes&) = default;
};

/// The taps of all axes; outputs in the target's order.
Sampling sampling_of(const SampledAxes& axes);

/// Shared by all rows of one call.
struct PreprocessPlan {
  const Preprocess& spec;
  Image source;          ///< A view of the region, with a complete colour description.
  int quarter_turns = 0; ///< 0 to 3. When odd, the source's columns become the target's rows.
  PreprocessTarget target;
  SampledAxes axes;
  RowMatrix to_rgb;
  float scale[3], bias[3]; ///< From 0..255 to the tensor's value, by tensor channel.
  bool swaps_axes() const noexcept { return quarter_turns % 2 != 0; }
};

/// The part of `image` selected by `region`, as a view of the same memory, with the complete colour
/// description of the whole image. Throws Error{invalid_argument} for a region outside the picture.
Image region_view(const Image& image, const PixelRect& region);

/// Throws Error{invalid_argument} for an invalid specification.
PreprocessPlan preprocess_plan(const Image& image, const Preprocess& spec);

/// preprocess() on the host into one batch element of `spec`'s shape, type and order.
void preprocess_into(std::byte* element, const Image& image, const Preprocess& spec, int threads);

/// Throws Error{invalid_argument, unsupported} for invalid arguments of preprocess().
void check_preprocess(const Image& image, const Preprocess& spec, const Tensor& output,
                      std::int64_t batch_index);

} // namespace lanner
