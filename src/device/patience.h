#pragma once
// How long threads look for what they wait for.

#include <algorithm>
#include <chrono>

namespace lanner {

// Note [Spinning threads]
// A network is a chain of hundreds of loops that take microseconds each. A thread that sleeps between two of
// them is woken too late to be of use; one that spins for long takes the core from the decoder and from every
// other process. So threads look for work for a hundred microseconds and then sleep. They do not give way
// while they look: the scheduler takes sched_yield() for a wish to be last, and what comes before takes
// milliseconds. A thread that finds time missing between two looks was taken off its core: somebody else
// wants it, so for a while it hardly looks and sleeps at once. One that sleeps is given a core sooner than
// one that has used up its time by looking. libgomp offers ten milliseconds or one microsecond, read from the
// environment when it is loaded; see docs/decisions/007-own-threads.md for what that costs.

using SpinClock = std::chrono::steady_clock;

inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Looks of one thread, which learns from them whether it has its core for itself.
class Spin {
public:
  /// Whether `done()` came true before looking for longer made no sense.
  template<typename Done>
  bool until(Done done) {
    SpinClock::time_point start, last;
    for (bool first = true;; first = false) {
      for (int i = 0; i < looks_between_clocks; ++i) {
        if (done()) return true;
        pause_core();
      }
      const auto now = SpinClock::now();
      if (first)
        start = now;
      else if (now - last > missing)
        crowded_until_ = now + crowded;
      last = now;
      if (now - start >= (now < crowded_until_ ? shortest : longest)) return false;
    }
  }

private:
  static constexpr int looks_between_clocks = 64;
  static constexpr std::chrono::microseconds longest{100}, shortest{2}, missing{30}, crowded{3000};
  SpinClock::time_point crowded_until_{};
};

/// A caller's, with the threads that help it: whether they return what they took in time.
class Patience {
public:
  /// Whether the caller does better alone for now. Costs nothing where helpers were never late.
  bool is_lost() const { return alone_for_.count() > 0 && SpinClock::now() < alone_until_; }
  void begin() { begin_ = SpinClock::now(); }
  /// From here on there is nothing left to do but to wait.
  void wait_begins() { waits_ = false; }
  template<typename Done>
  bool spin_until(Done done) {
    if (done()) return true;
    if (!waits_) wait_begin_ = SpinClock::now();
    waits_ = true;
    return spin_.until(done);
  }
  /// Everything was returned.
  void end() {
    if (!waits_ && alone_for_.count() == 0) return;
    const auto now = SpinClock::now();
    if (waits_ && now - wait_begin_ > wait_begin_ - begin_ + late)
      lose(now);
    else if (alone_for_.count() > 0 && now > alone_until_ + 2 * alone_for_)
      alone_for_ = alone_for_ > shortest ? alone_for_ / 2 : SpinClock::duration{};
  }

private:
  void lose(SpinClock::time_point now) {
    alone_for_ = std::clamp<SpinClock::duration>(2 * alone_for_, shortest, longest);
    alone_until_ = now + alone_for_;
  }

  static constexpr std::chrono::microseconds late{150};
  static constexpr std::chrono::milliseconds shortest{2}, longest{64};
  Spin spin_;
  bool waits_ = false;
  SpinClock::time_point begin_{}, wait_begin_{}, alone_until_{};
  SpinClock::duration alone_for_{};
};

} // namespace lanner
