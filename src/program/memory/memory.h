#pragma once
// Places buffers of known size and lifetime in one arena.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "program/schedule.h"

namespace lanner {

/// Size and lifetime of a buffer.
struct BufferRequest {
  std::uint64_t bytes = 0;
  Lifetime life;
};

/// About half a second; more than 16,000 buffers need.
inline constexpr std::uint64_t most_arena_looks = 1u << 27;

struct ArenaPlan {
  std::vector<std::uint64_t> offsets; ///< One for each request, multiples of the alignment.
  std::uint64_t bytes = 0;            ///< Size of the arena.
  std::uint64_t looks = 0;            ///< Placed buffers that were compared with new ones.
};

/// Greedy by size: the largest buffer first, each at the lowest offset without a buffer whose lifetime
/// overlaps: neither ends before the other's nor begins after it (Pisarchyk and Lee, "Efficient Memory
/// Management for Deep Neural Net Inference", 2020). Time is quadratic in their number: after `most_looks`
/// the smaller ones are placed by size class, in memory of earlier ones of their class.
ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment = 64,
                     std::uint64_t most_looks = most_arena_looks);

/// Requests and their placement.
struct ArenaLayout {
  std::vector<BufferRequest> requests;
  ArenaPlan plan;
};
/// As plan_arena; but where that needs more than `bound`, and each request has a counterpart in `bound` with
/// the same index and lifetime that is no smaller, it gets the counterpart's offset: a greedy plan of smaller
/// buffers may be larger.
ArenaPlan plan_arena_within(const ArenaLayout& bound, std::span<const BufferRequest> requests,
                            std::uint64_t alignment = 64);

/// Places as many as fit in a buffer of `capacity` bytes, largest first; null for the rest and for empty
/// ones.
std::vector<std::optional<std::uint64_t>> fit_into(std::span<const BufferRequest> requests,
                                                   std::uint64_t capacity, std::uint64_t alignment = 64);

/// The aligned offset after `bytes` at `offset`. Throws Error{limit_exceeded} on overflow.
std::uint64_t add_aligned(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment = 64);

} // namespace lanner
