#pragma once
// Where a stream falls apart into pieces that decode on their own.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "video/index/stream_index.h"

namespace lanner {

// Note [Spans]
// A span is the frames that are decoded from one place to start and from no later one. It begins with a
// packet where decoding may begin exactly; its frames are a range in presentation order. The leading pictures
// of an open entry (decoded after it, shown before it) belong to the span before, whose decoder therefore
// goes on past that entry up to its own last frame. Where the packets contradict this order, a place to start
// is not used.

struct Span {
  std::int64_t ordinal = 0; ///< Packet that decoding begins with.
  std::int64_t first = 0;   ///< Its first frame; the next span's first is its end.
  bool open = false;        ///< Pictures decoded after `ordinal` and shown before `first` may be damaged.
};

/// Immutable.
class SpanPlan {
public:
  explicit SpanPlan(const IndexContent& content);

  std::size_t size() const noexcept { return spans_.size(); }
  const Span& operator[](std::size_t span) const { return spans_[span]; }
  std::size_t span_of(std::int64_t frame) const;
  /// One behind the last frame.
  std::int64_t end_of(std::size_t span) const {
    return span + 1 < spans_.size() ? spans_[span + 1].first : frames_;
  }

private:
  std::vector<Span> spans_; ///< At least one, which begins with the first packet.
  std::int64_t frames_;
};

/// What decoding taught one reader about the spans of its stream: from where a span's frames come out exact.
/// Any thread may ask and tell.
class SpanTrust {
public:
  enum Level : std::uint8_t {
    own_start,      ///< From the span's own packet.
    previous_start, ///< From the span's before it.
    linear,         ///< Only from the stream's beginning, every packet given.
  };
  explicit SpanTrust(std::size_t spans) : levels_(spans) {}
  Level level(std::size_t span) const noexcept {
    return static_cast<Level>(levels_[span].load(std::memory_order_relaxed));
  }
  void lower(std::size_t span, Level to) noexcept { levels_[span].store(to, std::memory_order_relaxed); }

private:
  std::vector<std::atomic<std::uint8_t>> levels_;
};

/// Frames that are decoded from one start, by one decoder.
struct SpanJob {
  std::size_t span = 0;             ///< Whose start is taken.
  std::int64_t begin = 0, end = 0;  ///< Range of frames that holds the wanted ones.
  std::vector<std::int64_t> wanted; ///< Rising; empty for all of the range.
  std::int64_t last = 0;            ///< Ordinal of the last packet to decode for them.
  bool wants(std::int64_t frame) const;
};

/// One job for each span that holds some of `indices`, which are rising.
std::vector<SpanJob> jobs_for(const IndexContent& content, const SpanPlan& plan,
                              const std::vector<std::int64_t>& indices);
/// All frames from `first` on, spans of few frames joined.
std::vector<SpanJob> jobs_from(const IndexContent& content, const SpanPlan& plan, std::int64_t first);

} // namespace lanner
