#include "video/read/decoder_threads.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <lanner/threads.h>

#include "base/threads/thread_pool.h"
#include "device/team.h"

namespace lanner {

// An atomic number, as a child may be forked at any time.
static std::atomic<int> taken{0};

static int share_of(int free, int wanted) {
  return std::clamp(free / 2, DecoderThreads::none, std::max(wanted, DecoderThreads::none));
}

int DecoderThreads::most() {
  constexpr int decoders_at_work = 4, most_cores = 16; // Each keeps all cores busy.
  return decoders_at_work * (std::min(default_threads(), most_cores) + 2);
}

int DecoderThreads::offered(int wanted) {
  return share_of(most() - taken.load(), wanted);
}

DecoderThreads DecoderThreads::take(int wanted) {
  const int all = most();
  int before = taken.load(), share = none;
  do {
    share = share_of(all - before, wanted);
    if (share == none) return {};
  } while (!taken.compare_exchange_weak(before, before + share));
  return DecoderThreads(share);
}

bool DecoderThreads::scarce() {
  return taken.load() > most() / 2;
}

namespace {

/// Never destroyed, as its lock may be held where a child is forked: the child has its own.
struct SharedPool {
  const unsigned forks = forks_seen();
  std::mutex mutex;
  std::weak_ptr<ThreadPool> pool;
};
std::atomic<SharedPool*> shared_pool{nullptr};

SharedPool& pool_of_this_process() {
  SharedPool* found = shared_pool.load();
  while (!found || found->forks != forks_seen()) {
    auto own = std::make_unique<SharedPool>();
    if (shared_pool.compare_exchange_strong(found, own.get())) found = own.release();
  }
  return *found;
}

} // namespace

std::shared_ptr<ThreadPool> decoder_pool() {
  constexpr std::size_t most_waiting = 4096;
  SharedPool& shared = pool_of_this_process();
  const std::lock_guard lock(shared.mutex);
  std::shared_ptr<ThreadPool> pool = shared.pool.lock();
  if (!pool) {
    const auto threads = static_cast<std::size_t>(default_threads());
    pool = std::make_shared<ThreadPool>(threads, most_waiting, "lanner-decode");
    shared.pool = pool;
  }
  return pool;
}

void DecoderThreads::give_back() noexcept {
  if (count_ != none) taken.fetch_sub(count_);
  count_ = none;
}

} // namespace lanner
