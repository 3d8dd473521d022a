// Draws key points and the lines between them.

#include <array>
#include <span>

#include "tasks/draw/style.h"

namespace lanner {
namespace {

using Joint = std::array<int, 2>;

// COCO's key points ("COCO Keypoint Detection Task"): nose, eyes, ears, shoulders, elbows, wrists, hips,
// knees, ankles, the left before the right; and its lines.
constexpr std::int64_t coco_points = 17;
constexpr Joint coco_skeleton[] = {{15, 13}, {13, 11}, {16, 14}, {14, 12}, {11, 12}, {5, 11}, {6, 12},
                                   {5, 6},   {5, 7},   {6, 8},   {7, 9},   {8, 10},  {1, 2},  {0, 1},
                                   {0, 2},   {1, 3},   {2, 4},   {3, 5},   {4, 6}};
constexpr Color left_side{86, 180, 233}, right_side{230, 159, 0}, between{240, 228, 66};

/// People's left and right sides have their own colours; points of other objects are coloured by index.
Color point_color(std::int64_t points, int point) {
  if (points != coco_points) return class_color(point);
  return point == 0 ? between : point % 2 == 1 ? left_side : right_side;
}

Color joint_color(std::int64_t points, const Joint& joint) {
  const Color from = point_color(points, joint[0]), to = point_color(points, joint[1]);
  if (points != coco_points || from == to) return from;
  return between;
}

std::span<const Joint> skeleton_of(const Task& task, std::int64_t points) {
  if (!task.skeleton.empty()) return task.skeleton;
  return points == coco_points ? std::span<const Joint>(coco_skeleton) : std::span<const Joint>();
}

} // namespace

void draw_pose(Canvas& canvas, const DrawStyle& style, const ResultParts& parts, std::int64_t i,
               const Task& task) {
  const auto seen = [&](int p) {
    return p >= 0 && p < parts.points && parts.point(i, p)[2] >= least_confidence;
  };
  const auto place = [&](int p) { return Point{parts.point(i, p)[0], parts.point(i, p)[1]}; };
  const float line = style.line * 0.9f, radius = style.line * 0.9f + 0.6f;
  for (const bool under : {true, false})
    for (const Joint& joint : skeleton_of(task, parts.points))
      if (seen(joint[0]) && seen(joint[1]))
        canvas.line(place(joint[0]), place(joint[1]), under ? line + 2 : line,
                    under ? ink : joint_color(parts.points, joint), under ? 0.35f : 0.9f);
  for (int p = 0; p < parts.points; ++p) {
    if (!seen(p)) continue;
    canvas.disc(place(p), radius + 1, ink, 0.7f);
    canvas.disc(place(p), radius, point_color(parts.points, p), 1);
  }
}

} // namespace lanner
