#include "device/team_threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <ctime>
#include <exception>

#include <lanner/threads.h>

#include "base/threads/thread_name.h"
#include "base/threads/thread_settings.h"
#include "device/cpu.h"
#include "device/cpu_clock.h"
#include "device/numa.h"

namespace lanner::teams {
namespace {

constexpr int piece_bits = 24;
constexpr unsigned regions_between_checks = 1024; ///< Of the caller's NUMA node, and of cores.
constexpr std::uint64_t piece_mask = (std::uint64_t{1} << piece_bits) - 1;

thread_local TeamShare own_share;
thread_local Team* region = nullptr; ///< The team whose region the thread is in.

/// Threads of a team block all signals: the program's handlers must not run on them.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

private:
  sigset_t before_;
};

class InRegion {
public:
  InRegion(Team& team, int number, int size) {
    own_share = {number, size, true};
    region = &team;
  }
  ~InRegion() {
    own_share = {};
    region = nullptr;
  }
};

const std::vector<Cores>& machine_nodes() {
  static const auto* nodes = new std::vector<Cores>(memory_nodes());
  return *nodes;
}

/// The executor of the calling thread's free shares; null: its team.
const Executor* current_executor() noexcept {
  const Executor* given = given_executor();
  return given ? given : executor.load(std::memory_order_acquire);
}

} // namespace

void Team::end_threads() {
  stopping_ = true;
  const int helpers = helpers_;
  set_helpers(max_threads);
  publish(Ticket::of(next_number(), 0));
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  stopping_ = false;
  helpers_ = helpers;
}

/// Sets how many threads besides the caller take part.
void Team::set_helpers(int most) {
  if (helpers_.exchange(most) != most) helpers_.notify_all();
}

void Team::settle_helpers() {
  set_helpers(std::min(limit_, fewer_) - 1);
}

void Team::limit(int threads) {
  const Use use(*this);
  limit_ = threads > 0 ? threads : max_threads;
  settle_helpers();
}

double Team::seconds() {
  const Use use(*this);
  double sum = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (std::thread& worker : workers_) {
    clockid_t clock{};
    if (::pthread_getcpuclockid(worker.native_handle(), &clock) == 0) sum += seconds_of(clock);
  }
  return sum;
}

void Team::rest() {
  if (in_use_.test_and_set(std::memory_order_acquire)) return;
  end_threads();
  in_use_.clear(std::memory_order_release);
}

int Team::reserve(int threads) {
  const Use use(*this);
  return grow(threads);
}

/// Keeps the threads to the caller's NUMA node, where they fit; the caller itself is not bound.
void Team::follow_caller_node() {
  const std::vector<Cores>& nodes = machine_nodes();
  if (nodes.size() < 2) return;
  const int node = node_of(nodes, ::sched_getcpu());
  if (node == node_) return;
  node_ = node;
  const Cores cores = cores_for_team(nodes, allowed_cores(), node, static_cast<int>(workers_.size()) + 1);
  for (std::thread& worker : workers_) keep_to(worker.native_handle(), cores);
}

/// Where the process's affinity or quota shrank while it ran, threads beyond it would only compete for cores.
void Team::follow_cores() {
  constexpr std::chrono::milliseconds period{250};
  const auto now = SpinClock::now();
  if (now - last_look_ < period) return;
  last_look_ = now;
  const int cores = usable_cores();
  cores_ = std::max(cores_, cores);
  fewer_ = cores < cores_ ? cores : max_threads;
  settle_helpers();
}

void Team::look_around() {
  follow_caller_node();
  follow_cores();
}

/// Returns the number of threads that take part, the caller included.
int Team::grow(int threads) {
  threads = std::clamp(threads, 1, max_threads);
  for (std::size_t chunk = 0; chunk * chunk_size < static_cast<std::size_t>(threads); ++chunk)
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Chunk>();
  if (static_cast<int>(workers_.size()) >= threads - 1) return threads;
  const BlockedSignals blocked;
  try {
    while (static_cast<int>(workers_.size()) < threads - 1) {
      workers_.emplace_back([this, seen = Ticket{ticket_}.number(),
                             helper = static_cast<int>(workers_.size())] { serve(seen, helper); });
      name_thread(workers_.back(), "lanner-team");
    }
  } catch (const std::exception&) {
    threads = static_cast<int>(workers_.size()) + 1;
  }
  node_ = -1;
  follow_caller_node();
  return threads;
}

void Team::publish(Ticket ticket) {
  ticket_ = ticket.word;
  if (sleepers_ > 0) {
    ++bell_;
    bell_.notify_all();
  }
}

/// The number of a job newer than `seen`, once there is one.
std::uint64_t Team::next_job(std::uint64_t seen, Spin& spin) {
  const auto number = [&] { return Ticket{ticket_.load(std::memory_order_acquire)}.number(); };
  while (!spin.until([&] { return number() != seen; })) {
    const std::uint32_t bell = bell_;
    ++sleepers_;
    if (Ticket{ticket_}.number() == seen) bell_.wait(bell);
    --sleepers_;
  }
  return number();
}

void Team::wait_for_leave(int helper) {
  for (int most = helpers_; helper >= most; most = helpers_) helpers_.wait(most);
}

void Team::serve(std::uint64_t seen, int helper) {
  Spin spin;
  for (;;) {
    wait_for_leave(helper);
    seen = next_job(seen, spin);
    if (stopping_) return;
    if (helper < helpers_) run_shares(seen, true);
  }
}

void Team::give_back(std::uint32_t pieces) {
  if (left_.fetch_sub(pieces) == pieces && caller_sleeps_) left_.notify_one();
}

/// The next share of this job; -1 where none is left.
int Team::take_share(std::uint64_t number) {
  Ticket at{ticket_.load(std::memory_order_relaxed)};
  while (at.number() == number && at.taken() < at.shares())
    if (ticket_.compare_exchange_weak(at.word, at.word + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed))
      return at.taken();
  return -1;
}

/// Runs a piece that was taken. What a helper allocates counts as the caller's.
void Team::run_piece(const Job& job, int share, int piece, bool helper) {
  const InRegion in(*this, share, job.shares);
  if (helper) set_thread_bounds(bounds_);
  job.function(job.argument, share, piece);
  if (helper) set_thread_bounds({});
}

/// Returns how many pieces it ran: they are not given back yet.
std::uint32_t Team::run_pieces_left(int share, std::uint64_t number, bool helper) {
  std::atomic<std::uint64_t>& word = cursor(share).word;
  std::uint32_t ran = 0;
  std::uint64_t at = word.load(std::memory_order_relaxed);
  while (at >> piece_bits == number && (at & piece_mask) != 0) {
    if (!word.compare_exchange_weak(at, at - 1, std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    run_piece(job_, share, job_.pieces - static_cast<int>(at & piece_mask), helper);
    ++ran;
    at = word.load(std::memory_order_relaxed);
  }
  return ran;
}

/// Runs a share that was taken.
void Team::run_share(int share, std::uint64_t number, bool helper) {
  if (job_.pieces == 1) {
    run_piece(job_, share, 0, helper);
    return give_back(1);
  }
  cursor(share).word.store(number << piece_bits | static_cast<std::uint64_t>(job_.pieces),
                           std::memory_order_release);
  if (const std::uint32_t ran = run_pieces_left(share, number, helper); ran > 0) give_back(ran);
}

void Team::run_shares(std::uint64_t number, bool helper) {
  for (int share = take_share(number); share >= 0; share = take_share(number))
    run_share(share, number, helper);
}

/// Starts a job: share 0 is the caller's.
std::uint64_t Team::start(const Job& job) {
  job_ = job;
  bounds_ = thread_bounds();
  left_.store(static_cast<std::uint32_t>(job.shares) * static_cast<std::uint32_t>(job.pieces),
              std::memory_order_relaxed);
  const Ticket ticket = Ticket::of(next_number(), job.shares);
  publish(ticket);
  return ticket.number();
}

/// Lets the caller run pieces of shares taken by threads that may have lost their core.
void Team::help_others(std::uint64_t number) {
  for (int share = 1; share < job_.shares; ++share)
    if (const std::uint32_t ran = run_pieces_left(share, number, false); ran > 0) give_back(ran);
}

void Team::wait_for_others(std::uint64_t number) {
  const auto done = [&] { return left_.load(std::memory_order_acquire) == 0; };
  if (job_.pieces > 1 && !spin_policy_.spin_shortly_until(done)) help_others(number);
  while (!spin_policy_.spin_until(done)) {
    caller_sleeps_ = true;
    if (const std::uint32_t left = left_; left > 0) left_.wait(left);
    caller_sleeps_ = false;
  }
}

void Team::run_alone(const Job& job) {
  for (int share = 0; share < job.shares; ++share)
    for (int piece = 0; piece < job.pieces; ++piece) run_piece(job, share, piece, false);
}

/// Runs all pieces in one flat range, on the executor's threads.
void Team::run_by(const Executor& executor, const Job& job) {
  struct Row {
    Team& team;
    const Job& job;
    ThreadBounds bounds;
  } row{*this, job, thread_bounds()};
  const auto piece = [](void* argument, int number) {
    const Row& of = *static_cast<const Row*>(argument);
    const ThreadBounds before = thread_bounds();
    set_thread_bounds(of.bounds);
    of.team.run_piece(of.job, number / of.job.pieces, number % of.job.pieces, false);
    set_thread_bounds(before);
  };
  executor.run(executor.user, job.shares * job.pieces, piece, &row);
}

void Team::run(Job job, Shares kind) {
  const Executor* host = kind == Shares::free ? current_executor() : nullptr;
  if (host) return run_by(*host, job);
  const Use use(*this);
  run_in_use(job, kind);
}

void Team::run_in_use(Job job, Shares kind) {
  const bool free = kind == Shares::free;
  if (free && (spin_policy_.is_lost() || job.shares > max_threads)) return run_alone(job);
  const int threads = grow(job.shares);
  if (regions_++ % regions_between_checks == 0)
    look_around(); // Before threads are woken that wait for each other.
  if (!free) {
    job.shares = threads;
    set_helpers(max_threads);
  }
  if (threads == 1) return run_alone(job);
  spin_policy_.begin();
  const std::uint64_t number = start(job);
  run_share(0, number, false);
  if (left_.load(std::memory_order_acquire) != 0) {
    run_shares(number, false);
    wait_for_others(number);
  }
  if (free) spin_policy_.end();
}

void Team::barrier(int size) noexcept {
  const std::uint32_t number = barriers_;
  if (++arrived_ == size) {
    arrived_ = 0;
    ++barriers_;
    barriers_.notify_all();
    return;
  }
  Spin spin;
  while (!spin.until([&] { return barriers_.load(std::memory_order_acquire) != number; }))
    barriers_.wait(number);
}

} // namespace lanner::teams

namespace lanner {

void run_team(int shares, Shares kind, void (*function)(void*), void* argument) {
  if (shares <= 1 || teams::own_share.inside) {
    const TeamShare before = teams::own_share;
    teams::own_share = {0, 1, before.inside};
    function(argument);
    teams::own_share = before;
    return;
  }
  struct Call {
    void (*function)(void*);
    void* argument;
  } call{function, argument};
  const auto run = [](void* given, int, int) {
    const auto& of = *static_cast<const Call*>(given);
    of.function(of.argument);
  };
  teams::own_team().run({run, &call, shares, 1}, kind);
}

TeamShare team_share() noexcept {
  return teams::own_share;
}

void team_barrier() noexcept {
  if (teams::region && teams::own_share.size > 1) teams::region->barrier(teams::own_share.size);
}

} // namespace lanner
