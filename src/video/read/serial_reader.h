#pragma once
// One decoder: frame after frame, and single frames by number.

#include <deque>
#include <exception>
#include <optional>

#include "video/read/frame_conversion.h"
#include "video/read/frame_cursor.h"
#include "video/read/span_decoder.h"

namespace lanner {

/// One thread at a time.
class SerialReader {
public:
  SerialReader(SourcePtr source, const VideoReaderOptions& options)
      : cursor_(source, options),
        waits_for_next_(source->seekable() && options.decoder.latency == Latency::normal) {}

  FrameCursor& cursor() noexcept { return cursor_; }
  const FrameCursor& cursor() const noexcept { return cursor_; }
  /// From here on frames are those that the index of `parts` lists. The frames given so far keep their
  /// numbers.
  void adopt(PartsPtr parts);
  const PartsPtr& parts() const noexcept { return parts_; }
  /// Number of the frame given last, -1 at the beginning.
  std::int64_t last() const noexcept { return last_; }

  /// The next frame in presentation order; nothing at the end. Throws IndexContradicted.
  std::optional<Frame> next(const FrameFinish& finish);
  /// Frame `i`, which the index has; next() goes on behind it. Throws IndexContradicted, after which the
  /// place is the beginning.
  Frame seek(std::int64_t i, const FrameFinish& finish);
  void rewind();
  /// Whether the first frame, which was not given yet, has no time although its container has times.
  bool lacks_first_time();
  /// The decoder's state is gone: the next frame's place is found again, by an index where frames were given.
  void lose_place();

private:
  std::optional<Frame> next_unindexed(const FrameFinish& finish);
  std::optional<Frame> take_waiting();
  /// Decodes a frame more; false at the end, and where something was met, which the frames before come first.
  bool wait_for_more();
  void look_ahead();
  std::optional<TaggedFrame> decode_to(std::int64_t i);
  std::optional<TaggedFrame> decode_from_span(std::int64_t i, std::size_t span, bool may_go_on);
  std::optional<TaggedFrame> decode_linearly(std::int64_t i);
  std::optional<TaggedFrame> count_to(std::int64_t i);
  std::optional<TaggedFrame> run_to(std::int64_t i, std::int64_t first_whole);

  FrameCursor cursor_;
  PartsPtr parts_;
  std::int64_t last_ = -1;
  std::int64_t last_end_ = no_pts;
  std::deque<Frame> waiting_; ///< Without an index: decoded for the times of those before, not yet given.
  std::exception_ptr met_;    ///< What decoding met behind them.
  bool waits_for_next_;       ///< A frame is given once the next one tells how long it is shown.
  bool placed_ = true;        ///< The cursor's next frame follows `last_`.
};

} // namespace lanner
