#pragma once
// Anti-aliased shapes and text on an RGB picture.

#include <string_view>
#include <vector>

#include <lanner/image.h>

#include "tasks/draw/palette.h"

namespace lanner {

/// Edges in pixels; x1 and y1 are exclusive.
struct Rect {
  float x0, y0, x1, y1;
};
struct Point {
  float x, y;
};

/// Draws onto an rgb24 image that it shares. Everything is clipped to the picture; edges are anti-aliased by
/// their distance from a pixel's centre. Shapes with coordinates that are not finite are left out.
class Canvas {
public:
  explicit Canvas(Image& image) : image_(image) {}

  std::int32_t width() const { return image_.width; }
  std::int32_t height() const { return image_.height; }
  std::byte* row(std::int32_t y) { return image_.planes[0].data + image_.planes[0].pitch * y; }

  void fill(const Rect& rect, float radius, Color color, float opacity);
  void outline(const Rect& rect, float radius, float thickness, Color color, float opacity);
  /// A straight line with round ends.
  void line(Point from, Point to, float thickness, Color color, float opacity);
  void disc(Point centre, float radius, Color color, float opacity);
  /// Text whose capitals are `height` pixels high; (x, y) is the top left of the first capital. Returns its
  /// width.
  float text(std::string_view text, float x, float y, float height, Color color);

private:
  struct Rounded;
  template<typename Coverage>
  void paint(const Rounded& shape, Color color, float opacity, const Coverage& coverage);

  Image& image_;
};

} // namespace lanner
