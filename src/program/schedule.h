#pragma once
// The partial order of a program's steps, from which memory reuse and stream waits follow.
//
// The steps of a program stand in one list. Each goes to one of a few streams, queues of work in each of
// which steps run in list order; across streams a step begins after those that it waits for. A barrier begins
// when all steps before it have ended, and later steps begin after it. On one stream the order is the list
// itself.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/storage/within.h"

namespace lanner {

/// Streams that steps of one program may go to: those of one device, or one of each of several devices.
inline constexpr std::size_t max_run_streams = 8;
static_assert(max_streams <= max_run_streams);

/// For each stream the number of one of its steps, counted from 1.
using StreamCounts = std::array<std::uint32_t, max_run_streams>;

/// From the first step that touches some memory to the last one.
struct Lifetime {
  StreamCounts after; ///< Steps that have ended before any of these begins.
  StreamCounts until; ///< The last of these in each stream; 0: none.

  /// An unused memory: before and after every other lifetime.
  Lifetime() noexcept : until{} { after.fill(UINT32_MAX); }
  /// Of steps `first` to `last`, which count from 0, where all steps are of one stream.
  Lifetime(std::size_t first, std::size_t last) noexcept : Lifetime() {
    after[0] = static_cast<std::uint32_t>(first);
    until[0] = static_cast<std::uint32_t>(last + 1);
  }
  /// Whether all users of this have ended before any user of `other` begins.
  bool ends_before(const Lifetime& other) const noexcept {
    for (std::size_t s = 0; s < max_run_streams; ++s)
      if (until[s] > other.after[s]) return false;
    return true;
  }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

/// The order of steps, built by adding them in list order.
class StepOrder {
public:
  /// What the first step of a stream waits for: everything before the last barrier.
  static constexpr std::size_t beginning = SIZE_MAX;

  /// Adds the next step, which runs in `stream` after these already added steps.
  void add(int stream, std::span<const std::size_t> behind = {});
  /// Adds a barrier, in stream 0.
  void add_barrier();

  std::size_t steps() const noexcept { return steps_.size(); }
  int stream(std::size_t step) const { return steps_[step].stream; }
  /// Whether `a` has ended when `b` begins.
  bool before(std::size_t a, std::size_t b) const;
  /// The explicit waits of a step beyond its stream's own order: a minimal set of steps, or `beginning`; in
  /// list order.
  std::span<const std::size_t> waits(std::size_t step) const;
  /// Extends a memory's lifetime by a step that uses it.
  void touch(Lifetime& life, std::size_t step) const;

private:
  struct Placed {
    int stream = 0;
    std::uint32_t number = 0; ///< In its stream, from 1.
    StreamCounts ended{};     ///< Steps that have ended when it begins.
    std::size_t first_wait = 0, waits = 0;
  };
  /// Steps that have ended when it has.
  static StreamCounts behind(const Placed& step);
  std::vector<Placed> steps_;
  std::vector<std::size_t> waits_;
  std::array<StreamCounts, max_run_streams>
      reached_{}; ///< Steps that have ended when the last step of a stream has.
  std::array<std::size_t, max_run_streams> last_{}; ///< Last step of each stream since the last barrier.
  std::array<bool, max_run_streams> begun_{};       ///< Whether it has one.
};

/// A step reads or writes a slice of memory, or slices that follow each other every so many bytes.
struct Access {
  const Value* memory = nullptr;    ///< The root value whose memory it is.
  std::uint64_t first = 0, end = 0; ///< Byte range there, gaps between slices included.
  bool write = false;
  MemorySlices slices = {};
};

/// Reads and writes of the steps so far.
class Accesses {
public:
  /// Appends the steps that this access depends on: writers of what it reads or writes, and readers of what
  /// it writes.
  void conflicts(const Access& access, std::vector<std::size_t>& steps) const;
  void note(const Access& access, std::size_t step);

private:
  struct Noted {
    Access access;
    std::size_t step;
  };
  /// Without accesses that a later write replaced: that write already depends on them.
  struct Memory {
    std::vector<Noted> reads, writes;
  };
  std::map<const Value*, Memory> noted_;
};

} // namespace lanner
