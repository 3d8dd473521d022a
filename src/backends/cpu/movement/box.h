#pragma once
// Moving boxes of elements between strided places.

#include <cstddef>
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

/// The same box with its axes sorted by the target's strides, sizes of 1 dropped and axes merged where both
/// sides allow.
Box simplified(Box box);

/// Copies a simplified box of elements of 1, 2, 4 or 8 bytes. Source and target do not overlap, no target
/// element is written twice.
void copy_box(const Box& box, const void* source, void* target, std::size_t element_bytes, int threads);

} // namespace lanner
