#include "plan/memory.h"

#include <algorithm>
#include <numeric>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

bool overlaps(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

constexpr std::uint64_t max_bytes = INT64_MAX;

/// A graph may ask for more than there are addresses; what wraps around would be placed within other buffers.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t bytes) {
  check(bytes <= max_bytes && offset <= max_bytes - bytes, ErrorCode::limit_exceeded,
        "its values take more than {} bytes at once", max_bytes);
  return offset + bytes;
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment) {
  return end_of(bytes, alignment - 1) / alignment * alignment;
}

} // namespace

ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment) {
  ArenaPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return requests[a].bytes > requests[b].bytes; });

  std::vector<std::size_t> placed; // by offset
  for (std::size_t index : order) {
    const std::uint64_t bytes = rounded(requests[index].bytes, alignment);
    if (bytes == 0) continue;
    std::uint64_t offset = 0;
    for (std::size_t other : placed) {
      if (!overlaps(requests[index], requests[other])) continue;
      if (end_of(offset, bytes) <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + rounded(requests[other].bytes, alignment));
    }
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, end_of(offset, bytes));
    const auto place =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t i) { return plan.offsets[i]; });
    placed.insert(place, index);
  }
  return plan;
}

std::uint64_t add_aligned(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) {
  return end_of(offset, rounded(bytes, alignment));
}

} // namespace lanner
