#pragma once
// Smooth shapes and letters on an RGB picture.

#include <string_view>

#include <lanner/image.h>

#include "draw.h"

namespace lanner::tool {

/// Edges in pixels, x1 and y1 outside.
struct Rect {
  float x0, y0, x1, y1;
};

/// Draws onto an rgb24 image that it shares. Everything is cut at the picture's edges; edges are anti-aliased
/// by their distance from a pixel's centre.
class Canvas {
public:
  explicit Canvas(Image& image) : image_(image) {}

  void fill(const Rect& rect, float radius, Color color, float opacity);
  void outline(const Rect& rect, float radius, float thickness, Color color, float opacity);
  /// Text whose capitals are `height` pixels high; (x, y) is the top left of the first capital. Returns its
  /// width.
  float text(std::string_view text, float x, float y, float height, Color color);
  static float text_width(std::string_view text, float height);

private:
  template<typename Coverage>
  void paint(const Rect& area, Color color, float opacity, const Coverage& coverage);

  Image& image_;
};

} // namespace lanner::tool
