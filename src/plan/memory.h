#pragma once
// Places buffers of known size and lifetime in one arena.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lanner {

/// A buffer that must exist from step `first` to step `last`, both included.
struct BufferRequest {
  std::uint64_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<std::uint64_t> offsets; ///< One for each request, multiples of the alignment.
  std::uint64_t bytes = 0;            ///< Size of the arena.
};

/// Greedy by size: the largest buffer first, each at the lowest offset where no buffer that lives at the same
/// time lies (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment = 64);

/// Places what there is room for in a buffer of `capacity` bytes, the largest first; null for the rest. Those
/// that ask for nothing are left out.
std::vector<std::optional<std::uint64_t>> fit_into(std::span<const BufferRequest> requests,
                                                   std::uint64_t capacity, std::uint64_t alignment = 64);

/// Where what comes behind `bytes` at `offset` begins. Throws Error{limit_exceeded} past all addresses.
std::uint64_t add_aligned(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment = 64);

} // namespace lanner
