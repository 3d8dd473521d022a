#pragma once
// Rows of a contraction: for each pixel of the result the stored numbers that its window covers.

#include <cstddef>
#include <cstdint>

#include "backends/contraction/block.h"
#include "backends/contraction/contraction.h"

namespace lanner {

/// Gathers rows from an image with its channels last, or from a matrix. A row is, for each line of the
/// window, its pixels one after the other, or as one run where no padding is between them; each run is padded
/// to whole steps, and the row with zeros to as many as the functions ask for.
class RowGather {
public:
  RowGather() = default;
  /// `distance`: between x's pixels, in bytes. `joined`: the pixels of a line are one run.
  RowGather(const Contraction& contraction, const BlockFunctions& functions, std::int64_t distance,
            bool joined);

  /// Steps of four bytes in a row.
  std::int64_t steps() const { return (used_bytes() + padding_) / 4; }
  /// Bytes from row to row: some are unused.
  std::int64_t row_bytes() const { return 4 * steps() + row_slack; }

  /// Whether rows are x's own bytes, `distance` apart, so that none has to be gathered.
  bool in_place() const { return in_place_; }
  /// Where a row in place begins, and what is between its neighbours.
  const std::byte* row_in_place(const std::byte* x, std::int64_t group, std::int64_t row) const {
    return x + row * distance_ + group * channels_;
  }
  std::int64_t distance() const { return distance_; }

  /// Writes rows [first, last) of a group. `zero`: x's zero point.
  void gather(const std::byte* x, std::int64_t group, std::int64_t first, std::int64_t last, int zero,
              std::byte* to) const;

  /// The sum of the bytes of a row of quads, without those that make its runs whole steps.
  std::int32_t byte_sum(const std::byte* row) const;

private:
  bool reads_each_pixel_once() const;
  std::int64_t used_bytes() const { return lines_ * runs_ * run_bytes_; }

  /// Neighbouring pixels of the result.
  struct Pixels {
    const std::byte* image; ///< The first channel of the group.
    const std::byte* end;   ///< Of x.
    int zero;
    unsigned char padding; ///< What a byte of a row is where there is no pixel.
    std::int64_t y, x, count;
    std::byte* to; ///< The first one's row.
  };
  void gather_pixels(const Pixels& pixels) const;
  void gather_runs(const Pixels& pixels, const std::byte* line, std::int64_t shift, std::byte* to) const;
  void gather_run(const Pixels& pixels, const std::byte* line, std::int64_t x, std::byte* to) const;
  RowRuns runs_of(const Pixels& pixels, const std::byte* from, std::int64_t bytes, std::byte* to) const;

  const BlockFunctions* functions_ = nullptr;
  std::int64_t channels_ = 0, distance_ = 0; ///< Bytes of a group's pixel, and from pixel to pixel.
  std::int64_t element_ = 1;                 ///< Bytes that a byte of x becomes in a row.
  bool signed_ = false;
  std::int64_t x_bytes_ = 0;
  std::int64_t height_ = 1, width_ = 1;         ///< Of an image.
  std::int64_t out_height_ = 1, out_width_ = 1; ///< Of the result.
  std::int64_t lines_ = 1, runs_ = 1, run_pixels_ = 1, run_bytes_ = 0;
  std::int64_t padding_ = 0; ///< Bytes at the end of a row.
  bool in_place_ = false;
  std::int64_t strides_[2] = {1, 1}, dilations_[2] = {1, 1}, begin_[2] = {0, 0};
};

} // namespace lanner
