#pragma once
// Results drawn onto pictures, and written as the field's formats.

#include <string>
#include <string_view>

#include <lanner/image.h>
#include <lanner/task.h>

namespace lanner {

struct DrawOptions {
  float opacity = 0.5f; ///< Of masks, classes of pixels and depth over the picture; 1 hides it.
  bool labels = true;   ///< Words beside boxes.
  float line_width = 0; ///< Pixels; 0 follows the picture's size.
};
/// The picture (rgb24, same size) with the result on it; for the kind `image` the result's own picture;
/// `depth` as colours at full opacity unless options say less. Throws Error{invalid_argument} for none and
/// embed, which have nothing to draw.
Image draw_result(const Image& picture, const TaskResult& result, const Task& task,
                  const DrawOptions& options = {});

/// Whether draw_result() has something for this kind.
bool can_draw(TaskKind kind) noexcept;

/// The part of a picture that box `i` of the result covers, rounded outwards; empty boxes are
/// Error{invalid_argument}.
Image crop_box(const Image& picture, const TaskResult& result, std::int64_t i);

/// What draws letters that the built-in strokes do not have (CJK and others): the path of the font file
/// found, or empty, and then why.
struct FontSupport {
  std::string path, reason;
};
FontSupport find_font();

} // namespace lanner
