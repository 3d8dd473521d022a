#pragma once
// How `lanner run` would use a model, found before anything is built.

#include <optional>
#include <string>
#include <vector>

#include <lanner/task.h>

#include "options/engine_options.h"
#include "options/preprocess_options.h"

namespace lanner::tool {

struct ModelUse {
  std::optional<PictureInput> picture; ///< How images enter it; none where that is not known.
  /// The same in words: `input images: RGB 0..1, letterbox to 640x640 with gray 114, bilinear: ultralytics'
  /// metadata (task, stride, imgsz)`; or why it is not known.
  std::string preprocessing;
  std::optional<ResolvedTask> task;
  std::string task_text;           ///< `detect, head yolo_v8, 80 classes: ...`; or why that is not known.
  std::vector<std::string> others; ///< Inputs that `--inputs` must give: `ids: i64[N, 16]`.
};
/// From the result of inspect(), without flags. Throws only what ends a command (Ctrl-C, out of memory).
ModelUse use_of(const ModelFacts& facts);

} // namespace lanner::tool
