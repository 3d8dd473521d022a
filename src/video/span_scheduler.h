#pragma once
// Several decoders at work on the spans of one stream.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "video/cursor_pool.h"
#include "video/frame_queue.h"
#include "video/span_decoder.h"

namespace lanner {

/// How many decoders, and how many threads each.
struct Workers {
  int decoders = 1;
  int threads = 0; ///< 0 is the decoder's own choice.
};

/// What a scheduler works on; shared with its threads.
struct SpanWork {
  PartsPtr parts;
  std::vector<SpanJob> jobs;
  FrameFinish finish;
  Workers workers;
  QueueBound bound;
  CancelToken cancel; ///< The caller's.
};

/// Gives the wanted frames of the jobs in their order. Owns its threads from construction to destruction,
/// which stops them within a packet. The object itself is used by one thread at a time. A child made by
/// fork() has no part in the work: next() throws Error{unsupported} there.
class SpanScheduler {
public:
  SpanScheduler(SpanWork work, std::shared_ptr<CursorPool> cursors, std::shared_ptr<LinearLane> lane);
  ~SpanScheduler();
  SpanScheduler(const SpanScheduler&) = delete;
  SpanScheduler& operator=(const SpanScheduler&) = delete;

  /// Nothing behind the last job. Throws what a decoder met, in order, and IndexContradicted.
  std::optional<Frame> next();

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same on the caller's thread by one decoder. Calls `give` with each frame.
void run_jobs(const SpanWork& work, CursorPool& cursors, LinearLane& lane,
              const std::function<void(Frame)>& give);

/// Decoders for work on `spans` spans: as many as the options ask for, or what suits the machine; `engines`
/// are those of the GPU that decodes, 0 on a CPU. `random`: only some frames
/// of each span are wanted. `threads` of the decoder options stays where it is set.
Workers choose_workers(const VideoReaderOptions& options, int engines, std::size_t spans, bool random);

/// VideoReaderOptions::frame_bytes, or what suits the machine.
std::uint64_t choose_frame_bytes(const VideoReaderOptions& options);

} // namespace lanner
