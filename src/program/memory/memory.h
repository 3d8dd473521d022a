#pragma once
// Places buffers of known size and lifetime in one arena.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "program/schedule.h"

namespace lanner {

/// A buffer, and what touches it.
struct BufferRequest {
  std::uint64_t bytes = 0;
  Lifetime life;
};

/// About half a second, and more than 16,000 buffers need.
inline constexpr std::uint64_t most_arena_looks = 1u << 27;

struct ArenaPlan {
  std::vector<std::uint64_t> offsets; ///< One for each request, multiples of the alignment.
  std::uint64_t bytes = 0;            ///< Size of the arena.
  std::uint64_t looks = 0;            ///< At buffers that had their place, to find others theirs.
};

/// Greedy by size: the largest buffer first, each at the lowest offset where no buffer lies that may live at
/// the same time: whose lifetime neither ends before the other's nor begins behind it (Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020). That takes time with the square of
/// their number: after `most_looks` the smaller ones are placed by size classes, behind those of their class
/// that have ended.
ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment = 64,
                     std::uint64_t most_looks = most_arena_looks);

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
