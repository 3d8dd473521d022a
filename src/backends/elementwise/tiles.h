#pragma once
// Gathers tiles of an operand that is broadcast over a larger result.

#include <cstdint>
#include <vector>

#include <lanner/layout.h>
#include <lanner/shape.h>

namespace lanner {

/// How to read an operand while walking the result's memory from start to end.
class OperandWalk {
public:
  /// `operand` broadcasts to `result`, whose layout is `layout`; the operand's own is operand_layout(layout,
  /// ...).
  OperandWalk(const Shape& result, const Layout& layout, const Shape& operand);

  bool contiguous() const noexcept {
    return loops_.size() == 1 && loops_[0].stride == 1;
  } ///< Element i is at i.
  bool scalar() const noexcept { return loops_.empty() || (loops_.size() == 1 && loops_[0].stride == 0); }
  /// Number of elements after which the walk is back at the operand's start; the result's size when it never
  /// is.
  std::int64_t period() const noexcept { return period_; }
  /// Within a period, element i of the walk is element i of the operand.
  bool contiguous_in_period() const noexcept;

  /// Copies elements [first, first + count) of the walk.
  template<typename T>
  void fetch(const T* operand, std::int64_t first, std::int64_t count, float* tile) const;

private:
  struct Loop {
    std::int64_t size, stride;
  };
  std::vector<Loop> loops_; ///< Innermost first, merged where operand and result allow.
  std::int64_t period_ = 1;
};

} // namespace lanner
