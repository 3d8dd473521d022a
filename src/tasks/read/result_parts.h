#pragma once
// A result's tensors as numbers, once their shapes are known to fit.

#include <array>
#include <cstdint>
#include <span>

#include <lanner/task.h>

namespace lanner {

/// A corner of a turned box, in pixels.
using Corner = std::array<float, 2>;

/// Views into a result, which must outlive them. Parts that it does not have are empty.
struct ResultParts {
  std::int64_t count = 0; ///< Of boxes, or of classes of a picture.
  std::span<const std::int64_t> labels;
  std::span<const float> scores;
  std::span<const float> boxes;     ///< Four a box.
  std::span<const float> rotated;   ///< Five a box.
  std::span<const float> keypoints; ///< Three a point.
  std::int64_t points = 0;          ///< Key points a box.

  /// Left, top, right, bottom of a box; of a turned one where it has no other, those of its corners.
  std::array<float, 4> box(std::int64_t i) const;
  /// Of a turned box, clockwise from its own top left.
  std::array<Corner, 4> corners(std::int64_t i) const;
  /// x, y, confidence.
  std::span<const float, 3> point(std::int64_t i, std::int64_t p) const;
};

/// A key point below is not seen.
inline constexpr float least_confidence = 0.25f;

/// Of classify, detect, segment, pose and obb. Throws Error{invalid_argument} where parts are missing or do
/// not fit each other or the picture's size.
ResultParts parts_of(const TaskResult& result);

/// What a second network said of box `i`; null where none was run.
const TaskResult* crop_of(const TaskResult& result, std::int64_t i);

/// The elements of a row-major tensor on the host; `part` is what messages call it. Throws
/// Error{invalid_argument} for another type or shape; -1 is any size.
template<typename T>
std::span<const T> elements_of(const Tensor& tensor, std::initializer_list<std::int64_t> shape,
                               const char* part);

} // namespace lanner
