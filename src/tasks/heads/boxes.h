#pragma once
// Boxes in the formats of heads.

#include "tasks/heads/head.h"

namespace lanner::tasks {

/// Converts boxes of the task's format to edges in pixels of the network's input.
class BoxReader {
public:
  /// Element i of box r is `values[begin + r * pitch + i * step]`.
  BoxReader(const HeadRun& run, Values values, std::int64_t begin, std::int64_t pitch, std::int64_t step = 1);
  std::array<float, 4> operator()(std::int64_t row) const;
  /// Centre, width and height in pixels, for any format.
  std::array<float, 4> centred(std::int64_t row) const;

private:
  std::array<float, 4> numbers(std::int64_t row) const;

  Values values_;
  std::int64_t begin_, pitch_, step_;
  BoxForm form_;
  float width_ = 1, height_ = 1; ///< Factors to pixels.
};

/// Throws Error{bad_data} unless all are finite.
void check_box(const std::array<float, 4>& box, std::int64_t row);

/// Applies offsets to anchors: `box_scales` of the task, exp for sizes, at most a factor of 62.5.
class AnchorReader {
public:
  /// Anchors of the task, or of the part `anchors`; `count`: number of boxes.
  AnchorReader(const HeadRun& run, std::int64_t count);
  std::array<float, 4> operator()(std::int64_t row) const;

private:
  const HeadRun& run_;
  Values offsets_, anchors_;
  std::array<float, 4> scales_;
};

} // namespace lanner::tasks
