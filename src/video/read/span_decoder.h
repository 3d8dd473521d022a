#pragma once
// Exact frames of one span.

#include <functional>
#include <memory>

#include "video/index/span_plan.h"
#include "video/read/frame_conversion.h"
#include "video/read/frame_cursor.h"

namespace lanner {

/// Everything about one stream that decoders of its parts share. Threads may share one.
struct StreamParts {
  StreamParts(ContentPtr index) : content(std::move(index)), plan(*content), trust(plan.size()) {}
  ContentPtr content;
  SpanPlan plan;
  mutable SpanTrust trust;
};
using PartsPtr = std::shared_ptr<const StreamParts>;

/// Sets number and time of a frame that has presentation index `index`.
Frame numbered(TaggedFrame tagged, std::int64_t index, const IndexContent& content,
               const FrameFinish& finish);

/// Decodes from the stream's first packet on and never leaves one out: what it gives is right by definition.
/// It goes on from where it was as long as the frames asked for lie ahead. One thread at a time.
class LinearReader {
public:
  LinearReader(SourcePtr source, const VideoReaderOptions& options)
      : source_(std::move(source)), options_(options) {}
  /// Gives the wanted frames of `job` from number `from` on. Throws IndexContradicted.
  void run(const SpanJob& job, std::int64_t from, const IndexContent& content, const StopTokens& stop,
           const std::function<void(TaggedFrame, std::int64_t index)>& give);

private:
  SourcePtr source_;
  VideoReaderOptions options_;
  std::unique_ptr<FrameCursor> cursor_;
  std::int64_t last_ = -1; ///< Number of the newest frame.
};

/// How a SpanDecoder gets at the linear that it shares with others: returns when it is its turn.
using LinearAccess = std::function<LinearReader&()>;

// Note [Exact frames]
// The frames of a stream are those that decoding from its first packet gives. They are first predicted from
// the packets. Where the packets do not decide (PacketList::frames_are_certain), and wherever decoding ever
// contradicts the prediction, the list is settled by decoding the stream once. Random access starts at a
// place that resets the decoder. If damage shows on the way, or a frame is missing, concealment may have used
// older pictures: then the start before is taken, and after that the stream's beginning. What was learned
// stays with the reader (SpanTrust). The same is done where frames come in another order than the index says,
// or others are missing than those that were left out: each frame's name may be right and its number wrong.

/// Runs jobs on one cursor.
class SpanDecoder {
public:
  SpanDecoder(FrameCursor& cursor, PartsPtr parts, FrameFinish finish, StopTokens stop)
      : cursor_(cursor), parts_(std::move(parts)), finish_(std::move(finish)), stop_(std::move(stop)) {}
  /// Gives the wanted frames of `job` in order. Throws IndexContradicted.
  void run(const SpanJob& job, const std::function<void(Frame)>& give, const LinearAccess& linear);

private:
  bool attempt(const SpanJob& job, std::size_t span);
  bool gather(const SpanJob& job, const Span& start);
  void give(TaggedFrame tagged, std::int64_t index);
  PacketFilter filter_for(const SpanJob& job, const Span& start) const;

  FrameCursor& cursor_;
  PartsPtr parts_;
  FrameFinish finish_;
  StopTokens stop_;
  const std::function<void(Frame)>* give_ = nullptr;
  std::int64_t next_ = 0; ///< Number of the wanted frame that comes next; the job's end when none does.
};

/// Whether decoding may go from frame `from` to frame `to` without those before `to`: it rises, and no other
/// picture depends on them, or they begin behind packet `last`, which is the end.
bool may_be_left_out(const IndexContent& content, std::int64_t from, std::int64_t to,
                     std::int64_t last = INT64_MAX);

/// The first frame that `job` wants and that is not before `from`; the job's end when there is none.
std::int64_t first_wanted(const SpanJob& job, std::int64_t from);

} // namespace lanner
