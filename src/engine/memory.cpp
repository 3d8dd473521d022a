#include "engine/memory.h"

#include <algorithm>
#include <numeric>

#include <lanner/limits.h>

namespace lanner {
namespace {

bool overlaps(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
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
      if (offset + bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + rounded(requests[other].bytes, alignment));
    }
    plan.offsets[index] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    const auto place =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t i) { return plan.offsets[i]; });
    placed.insert(place, index);
  }
  return plan;
}

} // namespace lanner
