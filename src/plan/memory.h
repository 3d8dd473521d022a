#pragma once
// Places buffers of known size and lifetime in one arena.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/schedule.h"

namespace lanner {

/// A buffer, and what touches it.
struct BufferRequest {
  std::uint64_t bytes = 0;
  Lifetime life;
};

struct ArenaPlan {
  std::vector<std::uint64_t> offsets; ///< One for each request, multiples of the alignment.
  std::uint64_t bytes = 0;            ///< Size of the arena.
};

/// Greedy by size: the largest buffer first, each at the lowest offset where no buffer lies that may live at
/// the same time: whose lifetime neither ends before the other's nor begins behind it (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020).
ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment = 64);

/// What was placed, and where.
struct ArenaLayout {
  std::vector<BufferRequest> requests;
  ArenaPlan plan;
};
/// As plan_arena; but where that takes more than `bound`, and each of these fits where `bound` has its
/// counterpart, of equal number and lifetime and no smaller, it is placed there. A greedy plan of smaller
/// buffers may be the larger one.
ArenaPlan plan_arena_within(const ArenaLayout& bound, std::span<const BufferRequest> requests,
                            std::uint64_t alignment = 64);

/// Places what there is room for in a buffer of `capacity` bytes, the largest first; null for the rest. Those
/// that ask for nothing are left out.
std::vector<std::optional<std::uint64_t>> fit_into(std::span<const BufferRequest> requests,
                                                   std::uint64_t capacity, std::uint64_t alignment = 64);

/// Where what comes behind `bytes` at `offset` begins. Throws Error{limit_exceeded} past all addresses.
std::uint64_t add_aligned(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment = 64);

} // namespace lanner
