#pragma once
// How large and how strong things are drawn, and each kind of result.

#include <string>

#include <lanner/draw.h>

#include "tasks/draw/canvas.h"
#include "tasks/read/result_parts.h"

namespace lanner {

struct DrawStyle {
  float letters; ///< Height of a capital: readable in a small clip, not loud in a large one.
  float line;    ///< Width of a box's outline.
  float opacity; ///< Of what lies over pixels.
  bool labels;
};
/// Throws Error{invalid_argument} for options that make no sense.
DrawStyle style_of(const DrawOptions& options, const Image& picture, TaskKind kind);

std::string percent_text(double share); ///< `87%`.
/// Whether pixels of this class stay as they are: the class that is none.
bool is_background(const Task& task, std::int64_t number);

/// The picture as fresh rgb24 on the host.
Image to_rgb(const Image& picture);

/// A part of a picture as a view; its edges lie on whole chroma samples, or at the picture's end.
Image part_of(const Image& picture, const PixelRect& part);

/// Maps and pictures that a second network made of boxes, where these lie.
void draw_crop_maps(Image& drawn, const DrawStyle& style, const TaskResult& result);
/// A panel of the best classes with their probabilities.
void draw_classes(Canvas& canvas, const DrawStyle& style, const ResultParts& parts, const Task& task);
/// Boxes with labels, and masks, key points or turned boxes of kinds that have them. The best lie on top.
/// What a second network found in boxes is drawn too.
void draw_boxes(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task);
/// A mask in its colour, with a smooth edge and an outline.
void draw_mask(Canvas& canvas, const DrawStyle& style, const Mask& mask, Color color);
/// Key points of one box, and lines between them.
void draw_pose(Canvas& canvas, const DrawStyle& style, const ResultParts& parts, std::int64_t i,
               const Task& task);
/// Colours of classes over their pixels, with a panel that names them.
void draw_semantic(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task);
/// Colours of a depth map. What is not finite stays as it is.
void draw_depth(Canvas& canvas, const DrawStyle& style, const TaskResult& result, const Task& task);

} // namespace lanner
