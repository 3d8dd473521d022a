#pragma once
// What one pass from a picture to a tensor needs, worked out once: the CPU's rows and the GPU's kernel read
// the same numbers.

#include <cstdint>

#include <lanner/image.h>
#include <lanner/preprocess.h>

#include "image/resample.h"
#include "image/row_kernels.h"

namespace lanner {

/// The target's pixels that show the picture, and the source's place under them.
struct PreprocessRegion {
  std::int64_t width = 0, height = 0; ///< Of the whole target.
  std::int64_t x = 0, y = 0, columns = 0, rows = 0;
  Placement place;
};

/// What all rows of one call share.
struct PreprocessPlan {
  const Preprocess& spec;
  PreprocessRegion region;
  Sampling sampling;
  RowMatrix to_rgb;
  float scale[3], bias[3]; ///< From 0..255 to the tensor's value, by tensor channel.
};

/// Throws Error{invalid_argument} for a declaration that makes no sense.
PreprocessPlan preprocess_plan(const Image& image, const Preprocess& spec);

/// Throws Error{invalid_argument, unsupported} where a call of preprocess() makes no sense.
void check_preprocess(const Image& image, const Preprocess& spec, const Tensor& output,
                      std::int64_t batch_index);

} // namespace lanner
