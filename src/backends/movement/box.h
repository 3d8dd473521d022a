#pragma once
// Boxes of elements to be copied between strided arrays.

#include <cstdint>
#include <vector>

namespace lanner {

/// A box of `sizes`; strides and offsets count elements. A stride of 0 in the source repeats, a negative one
/// reverses.
struct Box {
  std::vector<std::int64_t> sizes, source_strides, target_strides;
  std::int64_t source_offset = 0, target_offset = 0;

  std::int64_t elements() const;
};

/// The same box with its axes sorted by the target's strides, axes of size 1 dropped and axes merged where
/// both sides allow.
Box simplified(Box box);

} // namespace lanner
