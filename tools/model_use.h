#pragma once
// What `lanner run` would take a model for, told before anything is built.

#include <string>
#include <vector>

#include "engine_options.h"

namespace lanner::tool {

/// In words, a line each.
struct ModelUse {
  /// How pictures enter it: `input images: RGB 0..1, letterbox to 640x640 with gray 114, bilinear:
  /// ultralytics' metadata (task, stride, imgsz)`; or why that is not known.
  std::string preprocessing;
  bool preprocessing_known = false;
  std::string task; ///< `detect, head yolo_v8, 80 classes: ...`; or why that is not known.
  bool task_known = false;
  std::vector<std::string> others; ///< Inputs that `--inputs` has to give: `ids: i64[N, 16]`.
};
/// Of what inspect() gave, without flags. Throws nothing but what ends a command (Ctrl-C, memory).
ModelUse use_of(const ModelFacts& facts);

} // namespace lanner::tool
