#pragma once
// Spin-wait policy: how long a thread spins before it sleeps.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace lanner {

// Note [Spinning threads]
// A network is a chain of hundreds of loops that take microseconds each. A thread that sleeps between two of
// them is woken too late to be of use; one that spins for long takes the core from the decoder and from every
// other process. So threads spin for a hundred microseconds and then sleep. They do not yield while they
// spin: the scheduler treats sched_yield() as a request to be last, and the work ahead takes milliseconds. A
// thread that finds a gap in time between two checks was preempted: another thread wants its core, so for a
// while it hardly spins and sleeps at once. One that sleeps is given a core sooner than one that has used up
// its time slice by spinning. libgomp offers ten milliseconds or one microsecond, read from the
// environment when it is loaded; see docs/decisions/007-own-threads.md for what that costs.

using SpinClock = std::chrono::steady_clock;

inline void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Spin-waits of one thread, which detects from them whether the thread has its core for itself.
class Spin {
public:
  /// Whether `done()` came true before spinning longer became useless.
  template<typename Done>
  bool until(Done done) {
    SpinClock::time_point start, last;
    for (bool first = true;; first = false) {
      for (int i = 0; i < checks_between_clocks; ++i) {
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
  static constexpr int checks_between_clocks = 64;
  static constexpr std::chrono::microseconds longest{100}, shortest{2}, missing{500}, crowded{3000};
  SpinClock::time_point crowded_until_{};
};

/// A counter with a steady rate, compared only with others of its kind; cheaper than a clock.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(SpinClock::now().time_since_epoch().count());
#endif
}

/// The policy of a caller and the threads that help it: what waiting for helpers costs that lost their core
/// with work in hand, and whether the caller is faster alone.
class SpinPolicy {
public:
  /// Whether the caller is faster alone for now. Costs nothing where helpers were never late.
  bool is_lost() const { return alone_for_.count() > 0 && SpinClock::now() < alone_until_; }
  void begin() {
    begin_ = ticks();
    waits_ = false;
  }
  /// Spins for a few microseconds.
  template<typename Done>
  bool spin_shortly_until(Done done) {
    for (int i = 0; i < short_checks; ++i) {
      if (done()) return true;
      pause_core();
    }
    return false;
  }
  /// Whether `done()` came true before it is better to sleep.
  template<typename Done>
  bool spin_until(Done done) {
    if (!waits_) {
      const std::uint64_t now = ticks();
      if (spin_shortly_until(done)) return true;
      own_ = now - begin_;
      wait_begin_ = SpinClock::now();
      wait_begin_ticks_ = ticks();
      waits_ = true;
    }
    return spin_.until(done);
  }
  /// Called when all pieces were returned.
  void end() {
    if (!waits_ || ticks() - wait_begin_ticks_ < own_) return;
    const auto now = SpinClock::now();
    if (now - wait_begin_ > late) add_loss(now, now - wait_begin_);
  }

private:
  /// Recent loss, which decays by a quarter of the elapsed time: a core that is missing now and then is no
  /// reason to do without its thread.
  void add_loss(SpinClock::time_point now, SpinClock::duration lost) {
    lost_ = std::max<SpinClock::duration>(lost_ - (now - last_loss_) / 4, {}) + lost;
    last_loss_ = now;
    if (lost_ < bearable) return;
    const bool again = now < alone_until_ + 2 * alone_for_;
    alone_for_ = again ? std::min<SpinClock::duration>(2 * alone_for_, longest) : shortest;
    alone_until_ = now + alone_for_;
    lost_ = {};
  }

  static constexpr int short_checks = 64;
  static constexpr std::chrono::microseconds late{150}, bearable{1500};
  static constexpr std::chrono::milliseconds shortest{8}, longest{64};
  Spin spin_;
  bool waits_ = false;
  std::uint64_t begin_ = 0, own_ = 0, wait_begin_ticks_ = 0;
  SpinClock::time_point wait_begin_{}, last_loss_{}, alone_until_{};
  SpinClock::duration lost_{}, alone_for_{};
};

} // namespace lanner
