#pragma once
// Calibration data of images: a folder, a pattern or a single file in place of a file of tensors.

#include <lanner/engine.h>

#include "input/files.h"
#include "options/engine_options.h"
#include "options/preprocess_options.h"

namespace lanner::tool {

/// Whether the options' calibration data are images.
bool calibrates_on_pictures(const BuildOptions& build);

/// Replaces the path of images by calibration data: each image, preprocessed as `options` and the model say,
/// for the input `name` (empty: the only one that takes images). Files that are no images are left out, with
/// a note. Throws Error{invalid_argument} where there is no image.
void take_calibration_pictures(const ModelFacts& facts, const PreprocessOptions& options,
                               const std::string& name, BuildOptions& build);

} // namespace lanner::tool
