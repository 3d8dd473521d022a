#pragma once
// Non-maximum suppression as the kernels of task_boxes.cu do it. Also plain C++, so that it is tested without
// a
// GPU.

#include <cstdint>
#include <cstring>

#include "tasks/read/overlap_text.h"

namespace lanner::tasks::cuda {

/// Boxes that one block resolves at a time.
inline constexpr int suppressed_together = 1024;

/// Boxes, sorted after ranking: best first, equal ones in the given order.
struct SuppressParameters {
  std::int64_t count = 0, most = 0; ///< Number of boxes, and the most that may remain.
  float threshold = 0;
  std::int32_t numbers = 4;     ///< Elements of a given box: 4 edges, any order of corners, or 5.
  const float* boxes = nullptr; ///< As given.
  const float* scores = nullptr;
  const std::int64_t* labels = nullptr; ///< Null: all are of one class.
  const double* directions = nullptr;   ///< Cosine and sine of each rotated box; null: computed here.
  std::uint64_t* keys = nullptr;        ///< Of the boxes as given.
  std::int32_t* order = nullptr;        ///< Sorted position to given index.
  UprightBox* upright = nullptr;        ///< Sorted; null for rotated boxes.
  RotatedBox* turned = nullptr;
  std::int64_t* classes = nullptr; ///< Sorted; null where there are no labels.
  std::uint8_t* gone = nullptr;    ///< Sorted: 1 where a better box suppresses it.
  std::int32_t* kept = nullptr;    ///< Sorted positions of remaining boxes; finally their given indices.
  std::int64_t* state = nullptr;   ///< Remaining boxes, the same before this block, boxes not finite.
};
enum SuppressState : std::uint8_t { stayed, stayed_before, not_finite, suppress_states };

/// Sort key: the higher score first, equal scores in the given order.
LANNER_HOST_DEVICE inline std::uint64_t order_key(float score, std::int64_t box) {
  const float plain = score + 0.0F; // -0 is 0.
  std::uint32_t bits;
  memcpy(&bits, &plain, sizeof bits);
  bits ^= bits >> 31 ? ~std::uint32_t{0} : std::uint32_t{1} << 31;
  return std::uint64_t{bits} << 32 | static_cast<std::uint32_t>(~box);
}

LANNER_HOST_DEVICE inline bool all_finite(const SuppressParameters& p, std::int64_t i) {
  float poison = p.scores[i] * 0;
  for (int k = 0; k < p.numbers; ++k) poison += p.boxes[i * p.numbers + k] * 0;
  return poison == 0;
}

/// Writes box `i` at its sorted position.
LANNER_HOST_DEVICE inline void place_box(const SuppressParameters& p, std::int64_t i, std::int64_t place) {
  const float* box = p.boxes + i * p.numbers;
  p.order[place] = static_cast<std::int32_t>(i);
  if (p.classes) p.classes[place] = p.labels[i];
  p.gone[place] = 0;
  if (p.upright)
    p.upright[place] = {lesser(box[0], box[2]), lesser(box[1], box[3]), greater(box[0], box[2]),
                        greater(box[1], box[3])};
  else if (p.directions)
    p.turned[place] = rotated_box(box, p.directions[i * 2], p.directions[i * 2 + 1]);
  else
    p.turned[place] = rotated_box(box, cos(static_cast<double>(box[4])), sin(static_cast<double>(box[4])));
}

/// Whether the box at sorted position `kept` suppresses the one at `other`.
LANNER_HOST_DEVICE inline bool suppresses(const SuppressParameters& p, std::int64_t kept,
                                          std::int64_t other) {
  if (p.classes && p.classes[kept] != p.classes[other]) return false;
  if (p.turned) return overlap_of(p.turned[kept], p.turned[other]) > p.threshold;
  const UprightBox a = p.upright[kept], b = p.upright[other];
  return covers(a, area_of(a), b, area_of(b), p.threshold);
}

} // namespace lanner::tasks::cuda
