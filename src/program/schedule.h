#pragma once
// Which steps of a run have ended when another one begins: the order that memory and waits follow from.
//
// The steps of a program stand in one list. Each goes to one of a few streams, queues of work in each of
// which steps run in the order of the list; across streams a step begins behind those that it waits for. A
// barrier begins when all before it has ended, and all behind it begins when it has. On one stream that is
// the list itself.

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

/// For each stream a number of its steps, which count from 1.
using StreamCounts = std::array<std::uint32_t, max_run_streams>;

/// From the first step that touches some memory to the last one.
struct Lifetime {
  StreamCounts after; ///< Steps that have ended before any of these begins.
  StreamCounts until; ///< The last of these in each stream; 0: none.

  /// Touched by nothing: it is before and behind every other one.
  Lifetime() noexcept : until{} { after.fill(UINT32_MAX); }
  /// Of steps `first` to `last`, which count from 0, where all steps are of one stream.
  Lifetime(std::size_t first, std::size_t last) noexcept : Lifetime() {
    after[0] = static_cast<std::uint32_t>(first);
    until[0] = static_cast<std::uint32_t>(last + 1);
  }
  /// Whether all that touches this has ended when anything that touches `other` begins.
  bool ends_before(const Lifetime& other) const noexcept {
    for (std::size_t s = 0; s < max_run_streams; ++s)
      if (until[s] > other.after[s]) return false;
    return true;
  }
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

/// The order of steps, made by adding them in the order of the list.
class StepOrder {
public:
  /// What a step waits for that begins a stream: all that was before the last barrier.
  static constexpr std::size_t beginning = SIZE_MAX;

  /// The next step, which runs in `stream` behind these steps, all of which were added.
  void add(int stream, std::span<const std::size_t> behind = {});
  /// The next step is a barrier, in stream 0.
  void add_barrier();

  std::size_t steps() const noexcept { return steps_.size(); }
  int stream(std::size_t step) const { return steps_[step].stream; }
  /// Whether `a` has ended when `b` begins.
  bool before(std::size_t a, std::size_t b) const;
  /// What a step has to wait for beside what its own stream does by itself: the fewest steps, or
  /// `beginning`; in the order of the list.
  std::span<const std::size_t> waits(std::size_t step) const;
  /// Adds a step to those that touch some memory.
  void touch(Lifetime& life, std::size_t step) const;

private:
  struct Placed {
    int stream = 0;
    std::uint32_t number = 0; ///< In its stream, from 1.
    StreamCounts ended{};     ///< When it begins.
    std::size_t first_wait = 0, waits = 0;
  };
  /// When it has ended.
  static StreamCounts behind(const Placed& step);
  std::vector<Placed> steps_;
  std::vector<std::size_t> waits_;
  std::array<StreamCounts, max_run_streams>
      reached_{};                                   ///< What has ended when the last step of a stream has.
  std::array<std::size_t, max_run_streams> last_{}; ///< Step of each stream, behind the last barrier.
  std::array<bool, max_run_streams> begun_{};       ///< Whether it has one.
};

/// A step reads or writes a slice of memory, or slices that follow each other every so many bytes.
struct Access {
  const Value* memory = nullptr;    ///< Whose own it is.
  std::uint64_t first = 0, end = 0; ///< Bytes there, what lies between slices included.
  bool write = false;
  MemorySlices slices = {};
};

/// What steps read and wrote so far.
class Accesses {
public:
  /// Adds the steps that one with this access must come behind: who wrote what it reads or writes, and who
  /// read what it writes.
  void conflicts(const Access& access, std::vector<std::size_t>& steps) const;
  void note(const Access& access, std::size_t step);

private:
  struct Noted {
    Access access;
    std::size_t step;
  };
  /// But for what a later write has replaced: that one comes behind it already.
  struct Memory {
    std::vector<Noted> reads, writes;
  };
  std::map<const Value*, Memory> noted_;
};

} // namespace lanner
