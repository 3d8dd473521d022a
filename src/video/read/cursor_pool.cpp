#include "video/read/cursor_pool.h"

#include <algorithm>
#include <utility>

namespace lanner {

namespace {

// Decoders hold pictures; more than this many are not kept for later.
constexpr std::size_t max_idle = 64;

} // namespace

std::unique_ptr<FrameCursor> CursorPool::take(int threads) {
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.threads == threads; });
    if (found != idle_.end()) {
      auto cursor = std::move(found->cursor);
      idle_.erase(found);
      return cursor;
    }
  }
  VideoReaderOptions options = options_;
  options.decoder.threads = threads;
  return std::make_unique<FrameCursor>(source_, options);
}

void CursorPool::give_back(std::unique_ptr<FrameCursor> cursor, int threads) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < max_idle) idle_.push_back({std::move(cursor), threads});
}

} // namespace lanner
