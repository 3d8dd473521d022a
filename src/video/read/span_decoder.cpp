#include "video/read/span_decoder.h"

#include <algorithm>
#include <utility>

#include <lanner/log.h>

namespace lanner {

std::int64_t first_wanted(const SpanJob& job, std::int64_t from) {
  if (job.wanted.empty()) return std::clamp(from, job.begin, job.end);
  const auto found = std::lower_bound(job.wanted.begin(), job.wanted.end(), from);
  return found == job.wanted.end() ? job.end : *found;
}

bool may_be_left_out(const IndexContent& content, std::int64_t from, std::int64_t to, std::int64_t last) {
  if (to < from) return false;
  for (; from < to; ++from) {
    const std::int64_t ordinal = content.frame(from).ordinal;
    if (ordinal <= last && !content.table[ordinal].disposable) return false;
  }
  return true;
}

Frame numbered(TaggedFrame tagged, std::int64_t index, const IndexContent& content,
               const FrameFinish& finish) {
  Frame frame = std::move(tagged.frame);
  frame.pts = content.frame(index).pts;
  frame.duration = content.frame(index).duration;
  frame.index = index;
  if (finish) finish(frame);
  return frame;
}

void LinearReader::run(const SpanJob& job, std::int64_t from, const IndexContent& content,
                       const StopTokens& stop,
                       const std::function<void(TaggedFrame, std::int64_t index)>& give) {
  std::int64_t next = first_wanted(job, from);
  if (next == job.end) return;
  if (!cursor_) {
    cursor_ = std::make_unique<FrameCursor>(source_, options_);
  } else if (last_ >= next) {
    cursor_->restart();
    last_ = -1;
  }
  cursor_->set_stop(stop);
  while (next < job.end) {
    std::optional<TaggedFrame> tagged = cursor_->next();
    const std::int64_t index = tagged ? content.index_by_ordinal(tagged->ordinal) : -1;
    if (!tagged || index > next || (index != last_ + 1 && !content.settled)) {
      cursor_.reset();
      last_ = -1;
      throw IndexContradicted();
    }
    if (index >= 0) last_ = index;
    if (index != next) continue;
    give(std::move(*tagged), index);
    next = first_wanted(job, next + 1);
  }
}

void SpanDecoder::run(const SpanJob& job, const std::function<void(Frame)>& give,
                      const LinearAccess& linear) {
  give_ = &give;
  next_ = first_wanted(job, job.begin);
  SpanTrust& trust = parts_->trust;
  if (trust.level(job.span) == SpanTrust::own_start) {
    if (attempt(job, job.span)) return;
    trust.lower(job.span, job.span > 0 ? SpanTrust::previous_start : SpanTrust::linear);
  }
  if (trust.level(job.span) == SpanTrust::previous_start) {
    if (attempt(job, job.span - 1)) return;
    trust.lower(job.span, SpanTrust::linear);
  }
  log_message(
      LogLevel::debug,
      fmt::format("video: frames {} to {} come out whole only from the stream's beginning", next_, job.end));
  linear().run(job, next_, *parts_->content, stop_,
               [this](TaggedFrame tagged, std::int64_t index) { this->give(std::move(tagged), index); });
}

void SpanDecoder::give(TaggedFrame tagged, std::int64_t index) {
  (*give_)(numbered(std::move(tagged), index, *parts_->content, finish_));
}

// With the wish to be told of damage a decoder speaks of damage that a late start has made.
bool SpanDecoder::attempt(const SpanJob& job, std::size_t span) {
  const Span& start = parts_->plan[span];
  cursor_.set_stop(stop_);
  try {
    cursor_.start_at(start.ordinal, parts_->content->table, filter_for(job, start));
    const bool whole = gather(job, start);
    cursor_.set_filter({}); // It refers to the job.
    return whole;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_data) throw;
    return false;
  }
}

bool SpanDecoder::gather(const SpanJob& job, const Span& start) {
  const IndexContent& content = *parts_->content;
  std::int64_t following = start.first;
  while (next_ < job.end) {
    std::optional<TaggedFrame> tagged = cursor_.next();
    if (!tagged) return false;
    const std::int64_t index = content.index_by_ordinal(tagged->ordinal);
    if (index < 0 && job.wanted.empty()) return false;
    if (index < start.first) continue;
    if (tagged->frame.corrupt || index > next_ || !may_be_left_out(content, following, index, job.last))
      return false;
    following = index + 1;
    if (index < next_) continue;
    give(std::move(*tagged), index);
    next_ = first_wanted(job, next_ + 1);
  }
  return true;
}

PacketFilter SpanDecoder::filter_for(const SpanJob& job, const Span& start) const {
  PacketFilter filter;
  filter.last = job.last;
  filter.skips = [this, &job, &start](std::int64_t ordinal) {
    const IndexContent& content = *parts_->content;
    const std::int64_t index = content.index_by_ordinal(ordinal);
    return ordinal != start.ordinal && index >= 0 && content.table[ordinal].disposable && !job.wants(index);
  };
  return filter;
}

} // namespace lanner
