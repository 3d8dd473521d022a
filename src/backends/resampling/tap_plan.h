#pragma once
// Schedule of resampling along up to three axes: axis by axis, in pieces that stay in a core's cache.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <lanner/layout.h>
#include <lanner/shape.h>

#include "backends/resampling/tap_sums.h"

namespace lanner {

/// A tensor's memory as `planes` of nested slabs, one level per axis from the first resampled one to the
/// last; contiguous elements after the last one form rows.
class TapPlan {
public:
  /// Nothing where an axis within a block, or more than three consecutive axes, would change.
  static std::optional<TapPlan> of(const Shape& x, const Shape& y, const Layout& layout,
                                   std::span<const ops::ResampledAxis> taps);

  std::int64_t planes() const noexcept { return planes_; }
  std::int64_t results() const noexcept { return levels_.front().out; } ///< Per plane, along the first axis.
  /// The granularity for distributing the results of a plane.
  std::int64_t unit() const noexcept;
  std::int64_t scratch() const noexcept { return scratch_; } ///< Floats of scratch memory for a run.
  double operations() const noexcept { return operations_; } ///< Of all planes, for estimates.

  /// Computes results `first` (a multiple of the unit) up to `last` of a plane.
  void run(std::int64_t plane, std::int64_t first, std::int64_t last, const float* x, float* y,
           float* scratch) const;

private:
  struct Level {
    ops::ResampledAxis taps;
    std::int64_t in = 1, out = 1;           ///< Elements along the axis.
    std::int64_t in_slab = 1, out_slab = 1; ///< Elements within one index, before and after.
    bool inner_first = false;        ///< Whether slabs are resampled along inner axes before they are summed.
    std::vector<std::int64_t> stops; ///< If inner first: for each index, the end of its piece.
    std::int64_t scratch = 0;        ///< Floats.

    TapList list() const { return {taps.begins.data(), taps.indices.data(), taps.weights.data()}; }
    /// Smallest and largest source position of so many results.
    std::pair<std::int64_t, std::int64_t> index_range(std::int64_t first, std::int64_t last) const;
    /// The source position that result i copies, or -1.
    std::int64_t copied(std::int64_t i) const;
    void cut_pieces();
  };

  void add_level(ops::ResampledAxis taps, std::int64_t in, std::int64_t out);
  void join_rows();
  void choose_order();
  double choose_order(std::size_t d);
  bool by_lines(std::size_t d) const { return inner_ == 1 && d + 1 == levels_.size(); }
  void run_level(std::size_t d, std::int64_t first, std::int64_t last, const float* from, float* to,
                 float* scratch) const;
  void run_inner_first(std::size_t d, std::int64_t first, std::int64_t last, const float* from, float* to,
                       float* scratch) const;

  const TapSumFunctions* functions_ = &tap_sum_functions();
  std::vector<Level> levels_;
  TapLineLists line_;
  std::int64_t planes_ = 1, inner_ = 1, scratch_ = 0;
  double operations_ = 0;
};

} // namespace lanner
