#include "tasks/draw/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tasks/draw/text.h"

namespace lanner {
namespace {

constexpr float pad_share = 0.55f; ///< Margin around letters, relative to their height.
constexpr float most_share = 0.4f; ///< Share of the picture's width, for a label that is wider than its box.
constexpr std::size_t most_compared = 400;

float shared_area(const Rect& a, const Rect& b) {
  return std::max(0.f, std::min(a.x1, b.x1) - std::max(a.x0, b.x0)) *
         std::max(0.f, std::min(a.y1, b.y1) - std::max(a.y0, b.y0));
}

} // namespace

void place_labels(std::vector<Label>& labels, float letters, std::int32_t width, std::int32_t height) {
  const float pad = std::round(letters * pad_share), tall = letters + 2 * pad;
  const float most_x = static_cast<float>(width), most_y = static_cast<float>(height);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Label& label = labels[i];
    const float most = std::max(most_x * most_share, label.box.x1 - label.box.x0);
    const std::string score = " " + label.score;
    const float room = std::min(most, most_x) - 2 * pad - text_width(score, letters);
    label.text = fitted_text(label.text, room, letters) + score;
    const float wide = text_width(label.text, letters) + 2 * pad;
    const auto at = [&](float x, float y) {
      const float left = std::round(std::clamp(x, 0.f, std::max(0.f, most_x - wide)));
      const float top = std::round(std::clamp(y, 0.f, std::max(0.f, most_y - tall)));
      return Rect{left, top, left + wide, top + tall};
    };
    // Above the box; at the picture's edge, inside; then the other side, and the box's other end.
    const Rect& box = label.box;
    const float above = box.y0 - tall, below = box.y1, end = box.x1 - wide;
    const bool room_above = above >= 0, room_below = below + tall <= most_y;
    const std::array<Rect, 4> places{at(label.start, room_above ? above : box.y0),
                                     at(label.start, room_below ? below : box.y1 - tall),
                                     at(end, room_above ? above : box.y0), at(label.start, box.y0)};
    float least = std::numeric_limits<float>::infinity();
    for (const Rect& place : places) {
      float shared = 0;
      for (std::size_t k = i > most_compared ? i - most_compared : 0; k < i; ++k)
        shared += shared_area(place, labels[k].place);
      if (shared >= least) continue;
      least = shared;
      label.place = place;
    }
  }
}

void draw_label(Canvas& canvas, const Label& label, float letters) {
  const float pad = std::round(letters * pad_share);
  canvas.fill(label.place, letters / 2.5f, label.color, 0.86f);
  canvas.text(label.text, label.place.x0 + pad, label.place.y0 + pad, letters, letters_on(label.color));
}

} // namespace lanner
