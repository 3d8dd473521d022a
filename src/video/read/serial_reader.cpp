#include "video/read/serial_reader.h"

#include <algorithm>
#include <utility>

namespace lanner {

namespace {

// So many frames are decoded for the time of a stream's first one, where they are not large.
constexpr std::size_t max_waiting = frames_for_a_time;
constexpr std::uint64_t max_waiting_bytes = 64u << 20;

} // namespace

void SerialReader::adopt(PartsPtr parts) {
  parts_ = std::move(parts);
  if (!waiting_.empty()) placed_ = false;
  waiting_.clear();
  met_ = nullptr;
}

void SerialReader::lose_place() {
  if (last_ < 0 && !parts_) return rewind();
  placed_ = false;
  waiting_.clear();
  met_ = nullptr;
}

bool SerialReader::lacks_first_time() {
  if (parts_ || last_ >= 0 || cursor_.stream().start_pts == no_pts) return false;
  if (waiting_.empty()) look_ahead();
  return !waiting_.empty() && waiting_.front().pts == no_pts;
}

void SerialReader::rewind() {
  placed_ = false;
  waiting_.clear();
  met_ = nullptr;
  cursor_.restart();
  last_ = -1;
  last_end_ = no_pts;
  placed_ = true;
}

bool SerialReader::wait_for_more() {
  if (met_) return false;
  try {
    std::optional<TaggedFrame> tagged = cursor_.next();
    if (!tagged) return false;
    waiting_.push_back(std::move(tagged->frame));
    return true;
  } catch (const Error&) {
    met_ = std::current_exception();
    return false;
  }
}

// As fill_missing_times() does: the first frame's time follows from those behind it.
void SerialReader::look_ahead() {
  std::uint64_t bytes = 0;
  while (waiting_.size() < max_waiting && (waiting_.empty() || waiting_.back().pts == no_pts)) {
    if (!wait_for_more()) break;
    bytes += frame_bytes(waiting_.back());
    if (bytes > max_waiting_bytes) break;
  }
  const auto timed = [](const Frame& frame) { return frame.pts != no_pts; };
  if (!waiting_.empty() && waiting_[0].duration > 0 && std::ranges::none_of(waiting_, timed))
    waiting_[0].pts = cursor_.first_dts();
  for (std::size_t i = waiting_.size(); i-- > 1;)
    if (waiting_[i - 1].pts == no_pts)
      waiting_[i - 1].pts = begin_before(waiting_[i].pts, waiting_[i - 1].duration);
}

std::optional<Frame> SerialReader::take_waiting() {
  if (waiting_.empty() && last_ < 0) look_ahead();
  if (waiting_.empty()) {
    if (met_) std::rethrow_exception(std::exchange(met_, nullptr));
    std::optional<TaggedFrame> tagged = cursor_.next();
    return tagged ? std::optional(std::move(tagged->frame)) : std::nullopt;
  }
  Frame frame = std::move(waiting_.front());
  waiting_.pop_front();
  return frame;
}

std::optional<Frame> SerialReader::next_unindexed(const FrameFinish& finish) {
  std::optional<Frame> frame = take_waiting();
  if (!frame) return frame;
  if (frame->pts == no_pts) frame->pts = last_end_;
  frame->index = ++last_;
  const bool timed = frame->pts != no_pts && frame->duration > 0;
  if (!timed || __builtin_add_overflow(frame->pts, frame->duration, &last_end_)) last_end_ = no_pts;
  if (waits_for_next_ && (!waiting_.empty() || wait_for_more()))
    frame->duration = shown_for(frame->pts, waiting_.front().pts, frame->duration);
  else if (waits_for_next_ && !met_)
    frame->duration =
        shown_until(frame->pts, cursor_.told_end(), frame->duration, cursor_.stream().time_base);
  if (finish) finish(*frame);
  return frame;
}

std::optional<Frame> SerialReader::next(const FrameFinish& finish) {
  if (!parts_) return next_unindexed(finish);
  const IndexContent& content = *parts_->content;
  const std::int64_t i = last_ + 1;
  if (!placed_) return i < content.size() ? std::optional(seek(i, finish)) : std::nullopt;
  std::optional<TaggedFrame> tagged = cursor_.next();
  if (!tagged && i >= content.size()) return std::nullopt;
  const bool listed = tagged && i < content.size();
  const bool expected = listed && content.frame(i).ordinal == tagged->ordinal;
  if (cursor_.is_linear()) {
    if (!expected && !(content.settled && listed)) {
      if (content.settled) return std::nullopt;
      placed_ = false;
      throw IndexContradicted();
    }
  } else if (!expected || tagged->frame.corrupt) {
    placed_ = false;
    return i < content.size() ? std::optional(seek(i, finish)) : std::nullopt;
  }
  last_ = i;
  return numbered(std::move(*tagged), i, content, finish);
}

Frame SerialReader::seek(std::int64_t i, const FrameFinish& finish) {
  std::optional<TaggedFrame> tagged = parts_->content->named ? decode_to(i) : count_to(i);
  if (!tagged && parts_->content->settled) tagged = count_to(i);
  if (!tagged) {
    placed_ = false;
    last_ = -1;
    throw IndexContradicted();
  }
  last_ = i;
  placed_ = true;
  return numbered(std::move(*tagged), i, *parts_->content, finish);
}

// See Note [Exact frames].
std::optional<TaggedFrame> SerialReader::decode_to(std::int64_t i) {
  SpanTrust& trust = parts_->trust;
  const std::size_t span = parts_->plan.span_of(i);
  if (trust.level(span) == SpanTrust::own_start) {
    if (auto tagged = decode_from_span(i, span, true)) return tagged;
    trust.lower(span, span > 0 ? SpanTrust::previous_start : SpanTrust::linear);
  }
  if (trust.level(span) == SpanTrust::previous_start) {
    if (auto tagged = decode_from_span(i, span - 1, false)) return tagged;
    trust.lower(span, SpanTrust::linear);
  }
  return decode_linearly(i);
}

std::optional<TaggedFrame> SerialReader::decode_from_span(std::int64_t i, std::size_t span, bool may_go_on) {
  const IndexContent& content = *parts_->content;
  const Span& start = parts_->plan[span];
  PacketFilter filter;
  filter.skips = [&content, i, ordinal = start.ordinal](std::int64_t packet) {
    const std::int64_t index = content.index_by_ordinal(packet);
    return packet != ordinal && index >= 0 && index < i && content.table[packet].disposable;
  };
  try {
    if (may_go_on && placed_ && last_ >= 0 && last_ < i && cursor_.position() > start.ordinal) {
      cursor_.set_filter(filter);
      if (auto tagged = run_to(i, last_ + 1)) return tagged;
    }
    placed_ = false;
    cursor_.start_at(start.ordinal, content.table, std::move(filter));
    return run_to(i, start.first);
  } catch (const Error& error) { // A late start makes damage of its own.
    if (error.code() != ErrorCode::bad_data) throw;
    return std::nullopt;
  }
}

// Nothing when damage shows on the way from frame `first_whole` on, or frames are missing or come in another
// order: then the index does not hold, or the start was too late.
std::optional<TaggedFrame> SerialReader::run_to(std::int64_t i, std::int64_t first_whole) {
  const IndexContent& content = *parts_->content;
  placed_ = false;
  std::int64_t next = first_whole;
  while (auto tagged = cursor_.next()) {
    const std::int64_t index = content.index_by_ordinal(tagged->ordinal);
    if (index < first_whole) continue;
    if (tagged->frame.corrupt || index > i || !may_be_left_out(content, next, index)) return std::nullopt;
    next = index + 1;
    if (index == i) {
      cursor_.set_filter({});
      return tagged;
    }
  }
  return std::nullopt;
}

std::optional<TaggedFrame> SerialReader::decode_linearly(std::int64_t i) {
  const bool ahead = placed_ && cursor_.is_linear() && last_ < i;
  if (!ahead) rewind();
  placed_ = false;
  const IndexContent& content = *parts_->content;
  for (std::int64_t next = last_ + 1; auto tagged = cursor_.next(); ++next) {
    const std::int64_t index = content.index_by_ordinal(tagged->ordinal);
    if (index > i || (index != next && !content.settled)) break;
    if (index == i) return tagged;
  }
  return std::nullopt;
}

// For streams whose frames no packet names.
std::optional<TaggedFrame> SerialReader::count_to(std::int64_t i) {
  const bool ahead = placed_ && cursor_.is_linear() && last_ < i;
  if (!ahead) rewind();
  placed_ = false;
  for (std::int64_t index = last_ + 1; auto tagged = cursor_.next(); ++index)
    if (index == i) return tagged;
  return std::nullopt;
}

} // namespace lanner
