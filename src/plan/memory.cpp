#include "plan/memory.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/account.h"
#include "base/check.h"

namespace lanner {
namespace {

bool overlaps(const BufferRequest& a, const BufferRequest& b) {
  return !a.life.ends_before(b.life) && !b.life.ends_before(a.life);
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

/// Requests that have their place, by offset.
class Placed {
public:
  Placed(std::span<const BufferRequest> requests, std::uint64_t alignment)
      : requests_(requests), alignment_(alignment), offsets_(requests.size()) {}

  /// The lowest offset where no buffer that lives at the same time lies.
  std::uint64_t free_offset(std::size_t index) const {
    const std::uint64_t bytes = size(index);
    std::uint64_t offset = 0;
    for (std::size_t other : placed_) {
      if (!overlaps(requests_[index], requests_[other])) continue;
      if (end_of(offset, bytes) <= offsets_[other]) break;
      offset = std::max(offset, offsets_[other] + size(other));
    }
    return offset;
  }

  void put(std::size_t index, std::uint64_t offset) {
    offsets_[index] = offset;
    const auto place =
        std::ranges::upper_bound(placed_, offset, {}, [&](std::size_t i) { return offsets_[i]; });
    placed_.insert(place, index);
  }

  std::uint64_t size(std::size_t index) const { return rounded(requests_[index].bytes, alignment_); }

private:
  std::span<const BufferRequest> requests_;
  std::uint64_t alignment_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::size_t> placed_;
};

/// The largest first; those that ask for nothing are left out.
std::vector<std::size_t> by_size(std::span<const BufferRequest> requests) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (requests[i].bytes > 0) order.push_back(i);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return requests[a].bytes > requests[b].bytes; });
  return order;
}

} // namespace

ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment) {
  ArenaPlan plan;
  plan.offsets.assign(requests.size(), 0);
  Placed placed(requests, alignment);
  for (std::size_t index : by_size(requests)) {
    check_deadline(); // each looks at all that have their place
    plan.offsets[index] = placed.free_offset(index);
    plan.bytes = std::max(plan.bytes, end_of(plan.offsets[index], placed.size(index)));
    placed.put(index, plan.offsets[index]);
  }
  return plan;
}

ArenaPlan plan_arena_within(const ArenaLayout& bound, std::span<const BufferRequest> requests,
                            std::uint64_t alignment) {
  const auto fits = [](const BufferRequest& small, const BufferRequest& large) {
    return small.bytes <= large.bytes && small.life == large.life;
  };
  ArenaPlan own = plan_arena(requests, alignment);
  const bool smaller = own.bytes <= bound.plan.bytes;
  return smaller || !std::ranges::equal(requests, bound.requests, fits) ? own : bound.plan;
}

std::vector<std::optional<std::uint64_t>> fit_into(std::span<const BufferRequest> requests,
                                                   std::uint64_t capacity, std::uint64_t alignment) {
  std::vector<std::optional<std::uint64_t>> offsets(requests.size());
  Placed placed(requests, alignment);
  for (std::size_t index : by_size(requests)) {
    check_deadline();
    const std::uint64_t offset = placed.free_offset(index);
    if (end_of(offset, requests[index].bytes) > capacity) continue;
    offsets[index] = offset;
    placed.put(index, offset);
  }
  return offsets;
}

std::uint64_t add_aligned(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) {
  return end_of(offset, rounded(bytes, alignment));
}

} // namespace lanner
