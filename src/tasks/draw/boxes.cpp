// Draws boxes, masks, key points and rotated boxes.

#include <algorithm>
#include <array>
#include <cmath>

#include <lanner/classes.h>

#include "tasks/draw/labels.h"
#include "tasks/draw/style.h"

namespace lanner {
namespace {

constexpr float shade = 0.35f; ///< Width of the dark line below, which is visible on bright pictures.

void draw_box(Canvas& canvas, const DrawStyle& style, const Rect& box, float line, Color color) {
  canvas.outline(box, style.letters / 2, line + 2, ink, shade);
  canvas.outline(box, style.letters / 2, line, color, 1);
}

void draw_rotated_box(Canvas& canvas, const DrawStyle& style, const std::array<Corner, 4>& corners,
                      Color color) {
  for (const float width : {style.line + 2, style.line})
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Corner &from = corners[i], &to = corners[(i + 1) % corners.size()];
      const bool under = width > style.line;
      canvas.line({from[0], from[1]}, {to[0], to[1]}, width, under ? ink : color, under ? shade : 1);
    }
}

/// Includes the second network's answer for the box: `car: red` and its probability.
Label label_of(const DrawStyle& style, const TaskResult& result, const ResultParts& parts, std::int64_t i,
               const Task& task) {
  const auto at = static_cast<std::size_t>(i);
  const std::array<float, 4> box = parts.box(i);
  const float half = style.line / 2;
  Label label{class_label(task, parts.labels[at]),
              percent_text(parts.scores[at]),
              class_color(parts.labels[at]),
              {box[0] - half, box[1] - half, box[2] + half, box[3] + half},
              box[0] - half};
  if (const TaskResult* crop = crop_of(result, i); crop && crop->kind == TaskKind::classify) {
    const ResultParts classes = parts_of(*crop);
    if (classes.count > 0) {
      label.text += ": " + class_label(*result.crop_task, classes.labels[0]);
      label.score = percent_text(classes.scores[0]);
    }
  }
  if (result.kind == TaskKind::obb) {
    const std::array<Corner, 4> corners = parts.corners(i);
    label.start =
        std::ranges::min(corners, {}, [](const Corner& corner) { return corner[1]; })[0] - style.letters;
  }
  return label;
}

void draw_shape(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const ResultParts& parts,
                std::int64_t i, const Task& task) {
  const Color color = class_color(parts.labels[static_cast<std::size_t>(i)]);
  if (result.kind == TaskKind::obb) return draw_rotated_box(canvas, style, parts.corners(i), color);
  if (result.kind == TaskKind::segment)
    draw_mask(canvas, style, result.masks[static_cast<std::size_t>(i)], color);
  const std::array<float, 4> box = parts.box(i);
  // With a mask or a skeleton the box itself matters less.
  const float line = result.kind == TaskKind::detect ? style.line : std::max(1.f, style.line / 2);
  draw_box(canvas, style, {box[0], box[1], box[2], box[3]}, line, color);
  if (result.kind == TaskKind::pose) draw_pose(canvas, style, parts, i, task);
}

/// The best are drawn last, on top.
void draw_shapes(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task) {
  const ResultParts parts = parts_of(result);
  for (std::int64_t i = parts.count; i-- > 0;) draw_shape(canvas, style, result, parts, i, task);
}

void add_labels(const DrawStyle& style, const TaskResult& result, const Task& task,
                std::vector<Label>& labels) {
  const ResultParts parts = parts_of(result);
  for (std::int64_t i = 0; i < parts.count; ++i) {
    Label label = label_of(style, result, parts, i, task);
    const std::array<float, 5> places{label.box.x0, label.box.y0, label.box.x1, label.box.y1, label.start};
    if (std::ranges::all_of(places, [](float place) { return std::isfinite(place); }))
      labels.push_back(std::move(label));
  }
}

} // namespace

void draw_boxes(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task) {
  draw_shapes(canvas, style, result, task);
  for (const TaskResult& crop : result.crops)
    if (has_boxes(crop.kind)) draw_shapes(canvas, style, crop, *result.crop_task);
  if (!style.labels) return;
  std::vector<Label> labels;
  add_labels(style, result, task, labels);
  for (const TaskResult& crop : result.crops)
    if (has_boxes(crop.kind)) add_labels(style, crop, *result.crop_task, labels);
  place_labels(labels, style.letters, canvas.width(), canvas.height());
  for (std::size_t i = labels.size(); i-- > 0;) draw_label(canvas, labels[i], style.letters);
}

} // namespace lanner
