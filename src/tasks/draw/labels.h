#pragma once
// Where the labels of boxes stand.

#include <string>
#include <vector>

#include "tasks/draw/canvas.h"

namespace lanner {

/// A word beside a box.
struct Label {
  std::string text;
  std::string score; ///< Behind the text; stays where that is shortened.
  Color color;
  Rect box;     ///< That it belongs to, its line included.
  float start;  ///< Where it begins at best, across.
  Rect place{}; ///< Where it stands.
};

/// Gives each label a place at its box and in the picture, best where none before it stands: above the box,
/// below, or inside. Shortens what is much wider than its box. Labels are in the order of their importance.
void place_labels(std::vector<Label>& labels, float letters, std::int32_t width, std::int32_t height);

void draw_label(Canvas& canvas, const Label& label, float letters);

} // namespace lanner
