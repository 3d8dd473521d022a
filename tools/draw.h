#pragma once
// Answers drawn onto pictures.

#include <vector>

#include <lanner/image.h>

#include "task.h"

namespace lanner::tool {

struct Color {
  float red = 0, green = 0, blue = 0; ///< 0..255.
};
/// A colour for a class: far from its neighbours', also for the colour-blind.
Color class_color(std::int64_t number);

/// A copy of the picture (RGB, same size) with the answers on it: boxes with labels for detections, a panel
/// of probabilities for classes.
Image annotate(const Image& picture, TaskKind kind, const std::vector<Answer>& answers);
/// Whether annotate() shows all that the kind says.
bool can_annotate(TaskKind kind);

} // namespace lanner::tool
