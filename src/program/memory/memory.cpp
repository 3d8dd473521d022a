#include "program/memory/memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <queue>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner {
namespace {

bool overlaps(const BufferRequest& a, const BufferRequest& b) {
  return !a.life.ends_before(b.life) && !b.life.ends_before(a.life);
}

constexpr std::uint64_t max_bytes = INT64_MAX;

/// Checked: a graph may need more than the address space, and a wrapped offset would overlap other buffers.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t bytes) {
  check(bytes <= max_bytes && offset <= max_bytes - bytes, ErrorCode::limit_exceeded,
        "its values take more than {} bytes at once", max_bytes);
  return offset + bytes;
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment) {
  return end_of(bytes, alignment - 1) / alignment * alignment;
}

/// Elements of a sorted list that are moved in the time of one look.
constexpr std::uint64_t moves_of_a_look = 16;

/// Placed requests, by offset.
class Placed {
public:
  Placed(std::span<const BufferRequest> requests, std::uint64_t alignment)
      : requests_(requests), alignment_(alignment), offsets_(requests.size()) {}

  /// The lowest offset that is free of buffers with an overlapping lifetime.
  std::uint64_t free_offset(std::size_t index) {
    const std::uint64_t bytes = size(index);
    std::uint64_t offset = 0;
    for (std::size_t other : placed_) {
      ++looks_;
      if (!overlaps(requests_[index], requests_[other])) continue;
      if (end_of(offset, bytes) <= offsets_[other]) break;
      offset = std::max(offset, offsets_[other] + size(other));
    }
    return offset;
  }

  void put(std::size_t index, std::uint64_t offset) {
    offsets_[index] = offset;
    const auto position =
        std::ranges::upper_bound(placed_, offset, {}, [&](std::size_t i) { return offsets_[i]; });
    looks_ += static_cast<std::uint64_t>(placed_.end() - position) / moves_of_a_look;
    placed_.insert(position, index);
  }

  std::uint64_t size(std::size_t index) const { return rounded(requests_[index].bytes, alignment_); }
  std::uint64_t looks() const noexcept { return looks_; }

private:
  std::span<const BufferRequest> requests_;
  std::uint64_t alignment_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::size_t> placed_;
  std::uint64_t looks_ = 0;
};

/// A slot for buffers of one size class, one after the other.
struct Slot {
  std::uint64_t offset = 0;
  Lifetime used; ///< Lifetime of all its buffers so far.

  bool operator<(const Slot& other) const { return used.until > other.used.until; } // earliest end first
};

/// Sizes that differ by less than a quarter share a class, so that few kinds of slots are needed.
std::uint64_t size_class(std::uint64_t bytes) {
  constexpr int digits = 2; // after the leading one
  const int shift = std::max(static_cast<int>(std::bit_width(bytes)) - 1 - digits, 0);
  const std::uint64_t unit = std::uint64_t{1} << shift;
  return end_of(bytes, unit - 1) / unit * unit;
}

/// Largest first; empty requests are left out.
std::vector<std::size_t> by_size(std::span<const BufferRequest> requests) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (requests[i].bytes > 0) order.push_back(i);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return requests[a].bytes > requests[b].bytes; });
  return order;
}

/// Places `rest` above the buffers of `plan`, in order of their begin: each in a slot of its size class that
/// is free again, of which only the one that ends first is tested.
void place_by_size(std::span<const BufferRequest> requests, std::vector<std::size_t> rest,
                   const Placed& placed, ArenaPlan& plan) {
  std::ranges::stable_sort(
      rest, [&](std::size_t a, std::size_t b) { return requests[a].life.after < requests[b].life.after; });
  std::map<std::uint64_t, std::priority_queue<Slot>> slots;
  for (const std::size_t index : rest) {
    check_deadline();
    const Lifetime& life = requests[index].life;
    const std::uint64_t bytes = size_class(placed.size(index));
    std::priority_queue<Slot>& alike = slots[bytes];
    Slot slot{plan.bytes, life};
    if (!alike.empty() && alike.top().used.ends_before(life)) {
      slot = alike.top();
      alike.pop();
      for (std::size_t s = 0; s < max_run_streams; ++s)
        slot.used.until[s] = std::max(slot.used.until[s], life.until[s]);
    } else {
      plan.bytes = end_of(plan.bytes, bytes);
    }
    plan.offsets[index] = slot.offset;
    alike.push(slot);
  }
}

} // namespace

ArenaPlan plan_arena(std::span<const BufferRequest> requests, std::uint64_t alignment,
                     std::uint64_t most_looks) {
  ArenaPlan plan;
  plan.offsets.assign(requests.size(), 0);
  Placed placed(requests, alignment);
  const std::vector<std::size_t> order = by_size(requests);
  auto next = order.begin();
  for (; next != order.end() && placed.looks() < most_looks; ++next) {
    check_deadline();
    plan.offsets[*next] = placed.free_offset(*next);
    plan.bytes = std::max(plan.bytes, end_of(plan.offsets[*next], placed.size(*next)));
    placed.put(*next, plan.offsets[*next]);
  }
  plan.looks = placed.looks();
  if (next != order.end()) place_by_size(requests, {next, order.end()}, placed, plan);
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
    if (placed.looks() >= most_arena_looks) break; // the rest is placed by size class
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
