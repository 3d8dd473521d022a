#include "reader_lanes.h"

#include <algorithm>
#include <utility>

#include <lanner/error.h>

#include "check.h"

namespace lanner::python {

namespace {

// Decoders hold pictures: an iteration and numbers beside it find theirs again.
constexpr std::size_t most_idle = 2;

constexpr const char* closed_text = "VideoReader: it was closed; open the video again";

} // namespace

Lanes::Lanes(VideoReader first) : origin_(std::make_shared<VideoReader>(std::move(first))) {
  idle_.push_back(std::make_shared<Lane>(origin_));
  all_ = idle_;
}

VideoReader& Lanes::open_video(Lane& lane) {
  check(lane.video != nullptr, ErrorCode::invalid_argument, closed_text);
  return *lane.video;
}

Lanes::LanePtr Lanes::take() {
  std::shared_ptr<const StreamIndex> index;
  std::shared_ptr<VideoReader> origin;
  {
    const std::lock_guard lock(mutex_);
    check(!closed_, ErrorCode::invalid_argument, closed_text);
    if (!idle_.empty()) {
      LanePtr lane = std::move(idle_.back());
      idle_.pop_back();
      return lane;
    }
    index = index_;
    origin = origin_;
  }
  auto lane = std::make_shared<Lane>(std::make_shared<VideoReader>(origin->reopen(std::move(index))));
  const std::lock_guard lock(mutex_);
  check(!closed_, ErrorCode::invalid_argument, closed_text);
  all_.push_back(lane);
  return lane;
}

void Lanes::give_back(LanePtr lane) {
  std::optional<Frame> last;
  LanePtr surplus; // Ends behind the lock.
  const std::lock_guard lock(mutex_);
  last.swap(lane->last);
  // The first one stays: it is held anyway, as what others are opened by.
  if (!idle_.empty() && lane->video == origin_) std::swap(lane, idle_.front());
  if (closed_ || idle_.size() >= most_idle) {
    std::erase(all_, lane);
    surplus = std::move(lane);
  } else {
    idle_.push_back(std::move(lane));
  }
}

void Lanes::share_index(std::shared_ptr<const StreamIndex> index, bool replace) {
  const std::lock_guard lock(mutex_);
  if (!index_ || replace) index_ = std::move(index);
}

std::shared_ptr<const StreamIndex> Lanes::index(const Control& control) {
  {
    const std::lock_guard lock(mutex_);
    if (index_) return index_;
  }
  return by_number(control, [&](VideoReader& video) { return video.index(control); });
}

std::optional<Frame> Lanes::seen(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const LanePtr& lane : all_)
    if (lane->last && lane->last->index == number) return lane->last;
  return std::nullopt;
}

void Lanes::keep(Lane& lane, const Frame& frame) {
  const std::lock_guard lock(mutex_);
  if (iterators_ > 1)
    lane.last = frame;
  else
    lane.last.reset();
}

void Lanes::ended_at(std::int64_t number, VideoReader& video) {
  bool taught = false; // By decoding, which is what frames are counted by.
  {
    const std::lock_guard lock(mutex_);
    end_ = number;
    taught = index_ && static_cast<std::int64_t>(index_->frames.size()) != number;
  }
  if (taught) share_index(video.index(), true);
}

bool Lanes::is_end(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  return number == end_;
}

void Lanes::count_iterators(int more) {
  const std::lock_guard lock(mutex_);
  iterators_ += more;
  if (iterators_ > 1) return;
  for (const LanePtr& lane : all_) lane->last.reset();
}

void Lanes::close() {
  std::vector<LanePtr> all, idle;
  std::shared_ptr<VideoReader> origin;
  {
    const ThreadCalls::Call call(calls_);
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(all_);
    idle.swap(idle_);
    origin.swap(origin_);
    index_.reset();
    for (const LanePtr& lane : all) lane->last.reset();
  }
  for (const LanePtr& lane : all) {
    const std::lock_guard lock(lane->mutex); // Who is at work with it comes to an end first.
    lane->video.reset();
  }
}

bool Lanes::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

FrameIterator::FrameIterator(std::shared_ptr<Lanes> lanes) : lanes_(std::move(lanes)) {
  lanes_->count_iterators(1);
}

FrameIterator::~FrameIterator() {
  if (!ended_) let_go();
}

/// At the end, or where nobody wants more.
void FrameIterator::let_go() {
  ended_ = true;
  if (lane_) lanes_->give_back(std::exchange(lane_, nullptr));
  lanes_->count_iterators(-1);
}

std::optional<Frame> FrameIterator::decoded() {
  if (!lane_) lane_ = lanes_->take();
  const std::lock_guard lock(lane_->mutex);
  VideoReader& video = Lanes::open_video(*lane_);
  std::optional<Frame> frame;
  if (lane_->next != next_ && next_ > 0) {
    frame = video.at(next_);
  } else {
    if (lane_->next != next_) video.rewind();
    frame = video.next();
  }
  if (!frame) {
    lane_->next = -1;
    lanes_->ended_at(next_, video);
    return frame;
  }
  if (frame->index >= 0) next_ = frame->index; // Behind damage frames may be missing.
  lane_->next = next_ + 1;
  lanes_->keep(*lane_, *frame);
  return frame;
}

std::optional<Frame> FrameIterator::next() {
  const ThreadCalls::Call call(lanes_->calls_);
  const std::lock_guard lock(mutex_);
  if (ended_) return std::nullopt;
  std::optional<Frame> frame;
  if (!lane_) frame = lanes_->seen(next_);
  if (!frame && (lane_ || !lanes_->is_end(next_))) frame = decoded();
  if (frame)
    ++next_;
  else
    let_go();
  return frame;
}

void ReversedFrames::read_more(const Control& control) {
  // Few enough for any memory, many enough that a GOP is decoded a few times only.
  constexpr std::int64_t most = 32, bytes = 256ll << 20, pixel_bytes = 3;
  ready_ = lanes_->borrowing(control, [&](VideoReader& video) {
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
  const ThreadCalls::Call call(lanes_->calls_);
  const std::lock_guard lock(mutex_);
  if (place_ == ready_.size()) {
    ready_.clear();
    read_more(control);
    if (ready_.empty()) return std::nullopt;
  }
  return std::move(ready_[place_++]);
}

} // namespace lanner::python
