#pragma once
// Results drawn onto pictures.

#include <optional>
#include <string>

#include <lanner/image.h>
#include <lanner/task.h>

namespace lanner {

struct DrawOptions {
  /// Of masks, classes of pixels and depth over the picture, 0 to 1; 1 hides it. Unset: 0.5, of depth 1.
  std::optional<float> opacity;
  bool labels = true;   ///< Words beside boxes, and which colour is which class of pixels.
  float line_width = 0; ///< Pixels; 0 follows the picture's size.
};
/// The picture (rgb24 on the host, same size, whatever its format and device) with the result on it; for the
/// kind `image` the result's own picture. Depth is drawn from its least to its largest finite value as
/// Task::color_map says (magma where it says nothing). Of key points those with a confidence from 0.25 up are
/// drawn. Letters of scripts that run from the right or join their letters (Hebrew, Arabic, those of India)
/// are empty boxes, as are those that find_font() has no font for. Throws Error{invalid_argument} for none
/// and embed, which have nothing to draw, for options that make no sense, and for a result whose parts do not
/// fit each other or the picture.
Image draw_result(const Image& picture, const TaskResult& result, const Task& task,
                  const DrawOptions& options = {});

/// Whether draw_result() has something for this kind.
bool can_draw(TaskKind kind) noexcept;

/// The part of a picture that box `i` of the result covers, rounded outwards, as rgb24 on the host; it shares
/// the memory of a picture that is so already. A box without a pixel of the picture, or a number without a
/// box, is Error{invalid_argument}.
Image crop_box(const Image& picture, const TaskResult& result, std::int64_t i);

/// What draws letters beyond ASCII: font files found in the folders of the XDG base directories.
struct FontSupport {
  std::string path;     ///< Of Latin, Cyrillic and Greek; empty: they are empty boxes.
  std::string cjk_path; ///< Of Chinese, Japanese and Korean; may be the same file.
  std::string reason;   ///< What is missing, with the remedy; empty where nothing is.
};
/// Looks at the first call. Thread-safe; never throws for what is missing.
FontSupport find_font();

} // namespace lanner
