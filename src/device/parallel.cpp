#include "device/parallel.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/options.h"
#include "device/fork.h"

namespace lanner {
namespace {

// Note [Spinning threads]
// After a parallel region libgomp's threads spin for about ten milliseconds before they sleep. An engine that
// runs alone is fastest so; but where the process decodes video beside it, on few cores, that time is taken
// from the decoder. The count is read from the environment when libgomp is loaded, before any code of ours;
// but libgomp spins 300 times shorter while it manages more threads than there are cores (libgomp's manual,
// GOMP_SPINCOUNT). So with the first decoder one team of that many threads is made and put to sleep for good.
// A user who sets OMP_WAIT_POLICY or GOMP_SPINCOUNT keeps what was chosen.
constexpr int most_parked = 128;

void park_team() {
  const int threads = omp_get_num_procs() + 1;
#pragma omp parallel num_threads(threads)
  {
    std::atomic_signal_fence(std::memory_order_seq_cst); // Keeps the empty region.
  }
  for (;;) ::pause();
}

void park_once() {
  if (options().spin_chosen || omp_get_num_procs() >= most_parked) return;
  // The parked threads inherit the mask: no signal of the program may be handled on them.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(park_team).detach();
  } catch (const std::system_error&) {
    // No thread could be had: longer spinning is the lesser evil.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

struct Partition {
  std::int64_t begin, end, grain, units;

  std::int64_t edge(std::int64_t part, std::int64_t parts) const noexcept {
    const std::int64_t unit = units / parts * part + std::min(part, units % parts);
    return std::min(end, begin + unit * grain);
  }
};

} // namespace

int openmp_threads(int wanted) {
  if (wanted <= 1 || omp_in_parallel() || openmp_lost()) return 1;
  note_openmp_use();
  return wanted;
}

void bound_openmp_spin() {
  static std::once_flag once;
  std::call_once(once, park_once);
}

void run_parallel(int threads, std::int64_t begin, std::int64_t end, std::int64_t grain, RangeBody body) {
  grain = std::max<std::int64_t>(grain, 1);
  const Partition partition{begin, end, grain, (end - begin - 1) / grain + 1};
  const int team = openmp_threads(static_cast<int>(std::min<std::int64_t>(threads, partition.units)));
  if (team <= 1) return body(begin, end);
  std::atomic<bool> failed{false};
  std::exception_ptr error;
#pragma omp parallel num_threads(team)
  {
    const int parts = omp_get_num_threads(), part = omp_get_thread_num();
    const std::int64_t first = partition.edge(part, parts), last = partition.edge(part + 1, parts);
    try {
      if (first < last) body(first, last);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

} // namespace lanner
