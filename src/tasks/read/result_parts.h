#pragma once
// A result's tensors as numbers, after their shapes were checked.

#include <array>
#include <cstdint>
#include <span>

#include <lanner/task.h>

namespace lanner {

/// A corner of a rotated box, in pixels.
using Corner = std::array<float, 2>;

/// Views into a result, which must outlive them. Missing parts are empty.
struct ResultParts {
  std::int64_t count = 0; ///< For boxes, or for classes of a picture.
  std::span<const std::int64_t> labels;
  std::span<const float> scores;
  std::span<const float> boxes;     ///< Four for each box.
  std::span<const float> rotated;   ///< Five for each box.
  std::span<const float> keypoints; ///< Three for each point.
  std::int64_t points = 0;          ///< Key points of each box.

  /// Left, top, right, bottom of a box; for a rotated one without such edges, those of its corners.
  std::array<float, 4> box(std::int64_t i) const;
  /// Corners of a rotated box, clockwise from its own top left.
  std::array<Corner, 4> corners(std::int64_t i) const;
  /// x, y, confidence.
  std::span<const float, 3> point(std::int64_t i, std::int64_t p) const;
};

/// A key point with a lower confidence is not visible.
inline constexpr float least_confidence = 0.25f;

/// For classify, detect, segment, pose and obb. Throws Error{invalid_argument} where parts are missing or do
/// not fit each other or the picture's size.
ResultParts parts_of(const TaskResult& result);

/// The second network's answer for box `i`; null where none was run.
const TaskResult* crop_of(const TaskResult& result, std::int64_t i);

/// The elements of a row-major tensor on the host; messages call it `part`. Throws
/// Error{invalid_argument} for another type or shape; -1 is any size.
template<typename T>
std::span<const T> elements_of(const Tensor& tensor, std::initializer_list<std::int64_t> shape,
                               const char* part);

} // namespace lanner
