#pragma once
// Sizes and opacities of drawings, and the functions that draw each kind of result.

#include <string>

#include <lanner/draw.h>

#include "tasks/draw/canvas.h"
#include "tasks/read/result_parts.h"

namespace lanner {

struct DrawStyle {
  float letters; ///< Height of a capital: readable in a small clip, not dominant in a large one.
  float line;    ///< Width of a box's outline.
  float opacity; ///< Opacity of what is drawn over pixels.
  bool labels;
};
/// Throws Error{invalid_argument} for options out of range.
DrawStyle style_of(const DrawOptions& options, const Image& picture, TaskKind kind);

std::string percent_text(double share); ///< `87%`.
/// Whether pixels of this class are not coloured: the background.
bool is_background(const Task& task, std::int64_t number);

/// The picture converted to a new rgb24 image on the host.
Image to_rgb(const Image& picture);

/// A part of a picture as a view; its edges are at whole chroma samples, or at the picture's end.
Image part_of(const Image& picture, const PixelRect& part);

/// Draws maps and images that a second network made of boxes, inside these boxes.
void draw_crop_maps(Image& drawn, const DrawStyle& style, const TaskResult& result);
/// Draws a panel of the best classes with their probabilities.
void draw_classes(Canvas& canvas, const DrawStyle& style, const ResultParts& parts, const Task& task);
/// Draws boxes with labels, and masks, key points or rotated boxes of kinds that have them, the best on top;
/// also the second network's results of the boxes.
void draw_boxes(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task);
/// Draws a mask in its colour, with a smooth edge and an outline.
void draw_mask(Canvas& canvas, const DrawStyle& style, const Mask& mask, Color color);
/// Draws the key points of one box, and lines between them.
void draw_pose(Canvas& canvas, const DrawStyle& style, const ResultParts& parts, std::int64_t i,
               const Task& task);
/// Draws class colours over their pixels, with a legend.
void draw_semantic(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task);
/// Draws a depth map in colours. Values that are not finite leave the pixel unchanged.
void draw_depth(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task);

} // namespace lanner
