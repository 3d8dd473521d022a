#pragma once
// Draws results onto pictures.

#include <optional>
#include <string>

#include <lanner/image.h>
#include <lanner/task.h>

namespace lanner {

struct DrawOptions {
  /// Opacity of masks, classes of pixels and depth, 0 to 1; 1 hides the picture. Unset: 0.5, for depth 1.
  std::optional<float> opacity;
  bool labels = true;   ///< Text next to boxes, and a legend for classes of pixels.
  float line_width = 0; ///< Pixels; 0: chosen by the picture's size.
};
/// The picture (rgb24 on the host, same size, whatever its format and device) with the result drawn on it;
/// for the kind `image` the result's own picture. Depth is drawn from its smallest to its largest finite
/// value with Task::color_map (magma where unset). Only key points with a confidence of at least 0.25 are
/// drawn. Letters of right-to-left scripts and of scripts that join their letters (Hebrew, Arabic, those of
/// India) are empty boxes, as are those that find_font() has no font for. Throws Error{invalid_argument} for
/// the kinds none and embed, which have nothing to draw, for invalid options, and for a result whose parts do
/// not fit each other or the picture.
Image draw_result(const Image& picture, const TaskResult& result, const Task& task,
                  const DrawOptions& options = {});

/// Whether draw_result() draws something for this kind.
bool can_draw(TaskKind kind) noexcept;

/// The part of a picture in box `i` of the result, rounded outwards, as rgb24 on the host; it shares the
/// memory of a picture that is rgb24 on the host already. A box without a pixel of the picture, or an invalid
/// `i`, is Error{invalid_argument}.
Image crop_box(const Image& picture, const TaskResult& result, std::int64_t i);

/// Fonts for letters beyond ASCII: font files found in the folders of the XDG base directories.
struct FontSupport {
  std::string path;     ///< Font for Latin, Cyrillic and Greek; empty: their letters are empty boxes.
  std::string cjk_path; ///< Font for Chinese, Japanese and Korean; may be the same file.
  std::string reason;   ///< What is missing, with the remedy; empty where nothing is.
};
/// Searches at the first call. Thread-safe; never throws for what is missing.
FontSupport find_font();

} // namespace lanner
