#pragma once
// Broadcasting of operands by NumPy's rule (ONNX "Broadcasting").

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/op.h"

namespace lanner::ops {

/// The size that two sizes broadcast to. For two sizes that are neither equal nor constant it is their
/// maximum, which holds unless one is 0. Error{invalid_argument} for two constants that do not fit.
Dim broadcast_dim(const Dim& a, const Dim& b);
Dims broadcast_dims(const Dims& a, const Dims& b);
/// Dims of all inputs broadcast together, as a type of `dtype`; unranked when an input is.
Type broadcast_type(const InferContext& context, DType dtype);
/// The common dtype of all inputs; Error{invalid_argument} when one differs.
DType common_dtype(const InferContext& context);

/// Nested loops over a broadcast shape, with dims merged where the operands allow, so that the innermost loop
/// is long.
class BroadcastLoop {
public:
  static constexpr std::size_t max_operands = 3;
  using Offsets = std::array<std::int64_t, max_operands>;

  /// Loops over `result` for operands (at most 3) whose shapes broadcast to it.
  BroadcastLoop(const Shape& result, std::span<const Shape> operands);

  /// The step of operand `i` per element of a run: 0 or 1.
  std::int64_t step(std::size_t i) const { return inner_steps_[i]; }

  /// Calls `body(at, offsets, count)` for each run: `count` elements of the result from `at`, operand i from
  /// offsets[i].
  template<typename Body>
  void run(Body&& body) const {
    if (empty_) return;
    Offsets offsets{};
    std::vector<std::int64_t> index(sizes_.size());
    for (std::int64_t at = 0;; at += inner_) {
      body(at, offsets, inner_);
      if (!advance(index, offsets)) return;
    }
  }

private:
  bool advance(std::vector<std::int64_t>& index, Offsets& offsets) const;

  bool empty_ = false;
  std::int64_t inner_ = 1;
  Offsets inner_steps_{};
  std::vector<std::int64_t> sizes_; ///< Outer loops, outermost first.
  std::vector<Offsets> strides_;
};

} // namespace lanner::ops
