#pragma once
// Opened demuxers and decoders of one stream that wait for their next use.

#include <memory>
#include <mutex>
#include <vector>

#include "video/read/frame_cursor.h"

namespace lanner {

/// Any thread may take and give back. A cursor that failed is not given back.
class CursorPool {
public:
  CursorPool(SourcePtr source, const VideoReaderOptions& options)
      : source_(std::move(source)), options_(options) {}
  /// One whose decoder has `threads` threads (0 is the decoder's own choice); opened where none waits.
  std::unique_ptr<FrameCursor> take(int threads);
  void give_back(std::unique_ptr<FrameCursor> cursor, int threads);

private:
  struct Idle {
    std::unique_ptr<FrameCursor> cursor;
    int threads;
  };
  SourcePtr source_;
  VideoReaderOptions options_;
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

} // namespace lanner
