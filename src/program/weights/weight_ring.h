#pragma once
// Weights that are not on a device, copied there ahead of the steps that read them, through a ring of memory.

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanner {

/// What one step reads of them: a slice of the ring.
struct WeightBlock {
  /// For `behind`: nothing was there since its segment began.
  static constexpr std::size_t nothing = SIZE_MAX;
  std::size_t step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t behind = nothing;             ///< The last step that reads what lies there before.
  std::uint32_t first_copy = 0, copies = 0; ///< Range of PlacedWeights::copies.
};

/// Places blocks of one segment, in the order of their steps, one behind the other in a ring of `capacity`
/// bytes, no less than the largest of them. Gives the bytes of it that are used.
std::uint64_t place_in_ring(std::span<WeightBlock> blocks, std::uint64_t capacity);

} // namespace lanner
