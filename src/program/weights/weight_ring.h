#pragma once
// Streamed weights: copied to a ring buffer on the device ahead of the steps that read them.

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanner {

/// The streamed weights of one step: a slice of the ring.
struct WeightBlock {
  /// For `behind`: its slice was unused since the segment began.
  static constexpr std::size_t nothing = SIZE_MAX;
  std::size_t step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t behind = nothing;             ///< The last step that reads the slice's previous contents.
  std::uint32_t first_copy = 0, copies = 0; ///< Range of WeightLocations::copies.
};

/// Places blocks of one segment, in step order, one after the other in a ring of `capacity` bytes, at least
/// the largest of them. Returns the bytes of it that are used.
std::uint64_t place_in_ring(std::span<WeightBlock> blocks, std::uint64_t capacity);

} // namespace lanner
