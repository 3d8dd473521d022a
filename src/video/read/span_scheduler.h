#pragma once
// Several decoders at work on the spans of one stream.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "video/nvdec/decoder.h"
#include "video/read/cursor_pool.h"
#include "video/read/frame_queue.h"
#include "video/read/span_decoder.h"

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
  SpanScheduler(SpanWork work, std::shared_ptr<CursorPool> cursors, std::shared_ptr<LinearReader> linear);
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
void run_jobs(const SpanWork& work, CursorPool& cursors, LinearReader& linear,
              const std::function<void(Frame)>& give);

/// What is to be decoded, and by what.
struct WorkSize {
  std::size_t spans = SIZE_MAX;          ///< That decode on their own.
  std::int64_t frames = -1;              ///< -1 where that is not known.
  bool random = false;                   ///< Only some frames of each span are wanted.
  const nvdec::Resources* gpu = nullptr; ///< Null on a CPU.
  std::uint64_t picture = 0;             ///< Bytes of a decoded picture, 0 where they are not known.
  int readers = 1;                       ///< That share a GPU's engines.
};
/// As many decoders as the options ask for, or what suits the work and the machine, and as few as their
/// pictures have room for. `threads` of the decoder options stays where it is set.
Workers choose_workers(const VideoReaderOptions& options, const WorkSize& work);

/// VideoReaderOptions::frame_bytes, or what suits the machine; `gpu` is null on a CPU. `readers` share it.
std::uint64_t choose_frame_bytes(const VideoReaderOptions& options, const nvdec::Resources* gpu,
                                 int readers = 1);

} // namespace lanner
