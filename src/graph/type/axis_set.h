#pragma once
// A set of a value's dims.

#include <cstdint>

namespace lanner {

/// None, all, or some dims below 32.
class AxisSet {
public:
  AxisSet() = default;
  static AxisSet all() { return AxisSet(~std::uint32_t{0}); }
  static AxisSet only(int axis) { return AxisSet(std::uint32_t{1} << axis); }

  bool contains(int axis) const noexcept { return axis >= 0 && axis < 32 && (bits_ >> axis & 1) != 0; }
  bool empty() const noexcept { return bits_ == 0; }

private:
  explicit AxisSet(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

} // namespace lanner
