#pragma once
// Reader of one of the clips that a pipeline decodes in parallel.

#include <cstddef>
#include <exception>
#include <thread>

#include <lanner/pipeline.h>

#include "base/threads/queue.h"

namespace lanner {

/// A frame of a clip, or its end.
struct ClipItem {
  std::size_t clip = 0;
  Frame frame; ///< Upright.
  double decode_seconds = 0;
  bool ended = false;
  std::exception_ptr error; ///< For an end: null at a normal end of the clip.
};

/// Opens a clip and decodes it ahead on its own thread.
class ClipReader {
public:
  /// `clip_readers`: number of readers that share the memory. `cancel` ends everything.
  ClipReader(std::size_t clip, OpenClip open, const PipelineOptions& options, std::size_t clip_readers,
             const CancelToken& cancel);
  ~ClipReader(); ///< Waits for the thread: at most a frame's decoding.
  ClipReader(const ClipReader&) = delete;
  ClipReader& operator=(const ClipReader&) = delete;

  /// The next frame; the end is the last item. Throws Error{cancelled}.
  ClipItem next();

private:
  void work();
  ClipItem decode_all();
  std::size_t queue_capacity(const StreamInfo& stream) const;

  const std::size_t clip_;
  OpenClip open_;
  const PipelineOptions& options_;
  const std::size_t clip_readers_;
  BoundedQueue<ClipItem> items_;
  std::thread thread_;
};

} // namespace lanner
