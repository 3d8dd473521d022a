#include "video/reader_pool.h"

#include <algorithm>
#include <utility>

#include <lanner/error.h>

#include "calls/check.h"

namespace lanner::python {

namespace {

// Decoders hold pictures: an iteration and numbers beside it find theirs again.
constexpr std::size_t most_idle = 2;

constexpr const char* closed_text = "VideoReader: it was closed; open the video again";

} // namespace

ReaderPool::ReaderPool(VideoReader first) : origin_(std::make_shared<VideoReader>(std::move(first))) {
  idle_.push_back(std::make_shared<PooledReader>(origin_));
  all_ = idle_;
}

VideoReader& ReaderPool::open_video(PooledReader& pooled) {
  check(pooled.video != nullptr, ErrorCode::invalid_argument, closed_text);
  return *pooled.video;
}

ReaderPool::PooledReaderPtr ReaderPool::take() {
  std::shared_ptr<const StreamIndex> index;
  std::shared_ptr<VideoReader> origin;
  {
    const std::lock_guard lock(mutex_);
    check(!closed_, ErrorCode::invalid_argument, closed_text);
    if (!idle_.empty()) {
      PooledReaderPtr pooled = std::move(idle_.back());
      idle_.pop_back();
      return pooled;
    }
    index = index_;
    origin = origin_;
  }
  auto pooled =
      std::make_shared<PooledReader>(std::make_shared<VideoReader>(origin->reopen(std::move(index))));
  const std::lock_guard lock(mutex_);
  check(!closed_, ErrorCode::invalid_argument, closed_text);
  all_.push_back(pooled);
  return pooled;
}

void ReaderPool::give_back(PooledReaderPtr pooled) {
  std::optional<Frame> last;
  PooledReaderPtr surplus; // Ends behind the lock.
  const std::lock_guard lock(mutex_);
  last.swap(pooled->last);
  // The first one stays: it is held anyway, as what others are opened by.
  if (!idle_.empty() && pooled->video == origin_) std::swap(pooled, idle_.front());
  if (closed_ || idle_.size() >= most_idle) {
    std::erase(all_, pooled);
    surplus = std::move(pooled);
  } else {
    idle_.push_back(std::move(pooled));
  }
}

void ReaderPool::share_index(std::shared_ptr<const StreamIndex> index, bool replace) {
  const std::lock_guard lock(mutex_);
  if (!index_ || replace) index_ = std::move(index);
}

std::shared_ptr<const StreamIndex> ReaderPool::index(const Control& control) {
  {
    const std::lock_guard lock(mutex_);
    if (index_) return index_;
  }
  return by_number(control, [&](VideoReader& video) { return video.index(control); });
}

std::optional<Frame> ReaderPool::seen(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const PooledReaderPtr& pooled : all_)
    if (pooled->last && pooled->last->index == number) return pooled->last;
  return std::nullopt;
}

void ReaderPool::keep(PooledReader& pooled, const Frame& frame) {
  const std::lock_guard lock(mutex_);
  if (iterators_ > 1)
    pooled.last = frame;
  else
    pooled.last.reset();
}

void ReaderPool::ended_at(std::int64_t number, VideoReader& video) {
  bool taught = false; // By decoding, which is what frames are counted by.
  {
    const std::lock_guard lock(mutex_);
    end_ = number;
    taught = index_ && static_cast<std::int64_t>(index_->frames.size()) != number;
  }
  if (taught) share_index(video.index(), true);
}

bool ReaderPool::is_end(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  return number == end_;
}

void ReaderPool::count_iterators(int more) {
  const std::lock_guard lock(mutex_);
  iterators_ += more;
  if (iterators_ > 1) return;
  for (const PooledReaderPtr& pooled : all_) pooled->last.reset();
}

void ReaderPool::close() {
  std::vector<PooledReaderPtr> all, idle;
  std::shared_ptr<VideoReader> origin;
  {
    const ThreadCalls::Call call(calls_);
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(all_);
    idle.swap(idle_);
    origin.swap(origin_);
    index_.reset();
    for (const PooledReaderPtr& pooled : all) pooled->last.reset();
  }
  for (const PooledReaderPtr& pooled : all) {
    const std::lock_guard lock(pooled->mutex); // Who is at work with it comes to an end first.
    pooled->video.reset();
  }
}

bool ReaderPool::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

FrameIterator::FrameIterator(std::shared_ptr<ReaderPool> pool) : pool_(std::move(pool)) {
  pool_->count_iterators(1);
}

FrameIterator::~FrameIterator() {
  if (!ended_) let_go();
}

/// At the end, or where nobody wants more.
void FrameIterator::let_go() {
  ended_ = true;
  if (pooled_) pool_->give_back(std::exchange(pooled_, nullptr));
  pool_->count_iterators(-1);
}

std::optional<Frame> FrameIterator::decoded() {
  if (!pooled_) pooled_ = pool_->take();
  const std::lock_guard lock(pooled_->mutex);
  VideoReader& video = ReaderPool::open_video(*pooled_);
  std::optional<Frame> frame;
  if (pooled_->next != next_ && next_ > 0) {
    frame = video.at(next_);
  } else {
    if (pooled_->next != next_) video.rewind();
    frame = video.next();
  }
  if (!frame) {
    pooled_->next = -1;
    pool_->ended_at(next_, video);
    return frame;
  }
  if (frame->index >= 0) next_ = frame->index; // Behind damage frames may be missing.
  pooled_->next = next_ + 1;
  pool_->keep(*pooled_, *frame);
  return frame;
}

std::optional<Frame> FrameIterator::next() {
  const ThreadCalls::Call call(pool_->calls_);
  const std::lock_guard lock(mutex_);
  if (ended_) return std::nullopt;
  std::optional<Frame> frame;
  if (!pooled_) frame = pool_->seen(next_);
  if (!frame && (pooled_ || !pool_->is_end(next_))) frame = decoded();
  if (frame)
    ++next_;
  else
    let_go();
  return frame;
}

void ReversedFrames::read_more(const Control& control) {
  // Few enough for any memory, many enough that a GOP is decoded a few times only.
  constexpr std::int64_t most = 32, bytes = 256ll << 20, pixel_bytes = 3;
  ready_ = pool_->borrowing(control, [&](VideoReader& video) {
    const auto index = video.index(control);
    if (!left_) left_ = static_cast<std::int64_t>(index->frames.size());
    const std::int64_t pixels = std::int64_t{video.stream().width} * video.stream().height;
    const std::int64_t count =
        std::clamp<std::int64_t>(bytes / std::max<std::int64_t>(1, pixels * pixel_bytes), 1, most);
    const std::int64_t least = std::max<std::int64_t>(0, *left_ - count);
    std::vector<std::int64_t> numbers;
    for (std::int64_t number = *left_ - 1; number >= least; --number) {
      numbers.push_back(number);
      if (index->frames[static_cast<std::size_t>(number)].key) break;
    }
    return video.at(numbers, control);
  });
  left_ = *left_ - static_cast<std::int64_t>(ready_.size());
  place_ = 0;
}

std::optional<Frame> ReversedFrames::next(const Control& control) {
  const ThreadCalls::Call call(pool_->calls_);
  const std::lock_guard lock(mutex_);
  if (place_ == ready_.size()) {
    ready_.clear();
    read_more(control);
    if (ready_.empty()) return std::nullopt;
  }
  return std::move(ready_[place_++]);
}

} // namespace lanner::python
