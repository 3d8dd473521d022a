#pragma once
// Placement of box labels.

#include <string>
#include <vector>

#include "tasks/draw/canvas.h"

namespace lanner {

/// A label of a box.
struct Label {
  std::string text;
  std::string score; ///< After the text; kept where the text is shortened.
  Color color;
  Rect box;     ///< Its box, outline included.
  float start;  ///< Preferred left edge.
  Rect place{}; ///< Its rectangle.
};

/// Places each label at its box, inside the picture, and preferably where it overlaps no earlier label: above
/// the box, below, or inside. Shortens labels that are much wider than their box. Labels are ordered by
/// importance.
void place_labels(std::vector<Label>& labels, float letters, std::int32_t width, std::int32_t height);

void draw_label(Canvas& canvas, const Label& label, float letters);

} // namespace lanner
