#include "video/read/decoder_threads.h"

#include <algorithm>
#include <atomic>

#include <lanner/threads.h>

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

void DecoderThreads::give_back() noexcept {
  if (count_ != none) taken.fetch_sub(count_);
  count_ = none;
}

} // namespace lanner
