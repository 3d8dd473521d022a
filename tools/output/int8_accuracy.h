#pragma once
// The accuracy of a network in INT8 beside FP32, on pictures with ground truth.

#include <cstdint>
#include <string>

#include <lanner/evaluation.h>

#include "options/engine_options.h"
#include "options/preprocess_options.h"
#include "output/json_text.h"

namespace lanner::tool {

/// The same pictures through both engines.
struct Int8Accuracy {
  Evaluation fp32, int8;
  std::int64_t compared = 0; ///< Rows of classes, one for each picture; 0 where the network gives none.
  std::int64_t agreed = 0;   ///< Of these, rows whose largest element is the same.
  double snr_db = 0;         ///< Of all outputs of reals together, against FP32's.
  Json decisions;            ///< The engine's metadata `lanner.int8`.

  /// `fp32`, `agreement` and `int8` beside the fields of the INT8 evaluation.
  Json json() const;
};

/// Fixes open sizes of the input that takes images, so that calibration data have the engine's batch.
void fix_picture_shape(const ModelFacts& facts, const PictureInput& picture, int batch, BuildOptions& build);

/// A model built twice; both engines take tensors.
struct Int8Engines {
  Engine fp32, int8;
};
Int8Engines int8_engines(ModelFacts& facts, const EngineOptions& options, const PictureInput& picture,
                         int batch, BuildOptions build);

/// `options.run` is set by this function.
Int8Accuracy compare_with_fp32(const Int8Engines& engines, const Task& task, const Dataset& data,
                               const EvaluateOptions& options);

/// Numbers of both side by side, how often answers agree, and the nodes that stayed in FP32 with their
/// reason.
std::string comparison_text(const Int8Accuracy& accuracy);

} // namespace lanner::tool
