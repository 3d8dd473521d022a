#pragma once
// The readers of the library's that one VideoReader of Python's has at work.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <lanner/video_reader.h>

#include "video/thread_calls.h"

namespace lanner::python {

// Note [ReaderPool]
// A VideoReader of Python's is a sequence: iterators know nothing of each other, and numbers move none of
// them. The library's VideoReader has one place, so there are as many of them as are needed at once, over one
// source and index: pool. An iterator takes a pooled when it has to decode and keeps it, so that it decodes
// linearly; calls by number take one for as long as they last. What goes back is used again. Iterators that
// go side by side, as of zip(v, v), share one pooled: what it gave last is kept while there are several, and
// who wants that very frame gets it without a pooled.

/// One reader, for one user at a time.
struct PooledReader {
  explicit PooledReader(std::shared_ptr<VideoReader> reader) : video(std::move(reader)) {}
  std::mutex mutex;                   ///< Of `video` and `next`.
  std::shared_ptr<VideoReader> video; ///< Null once it was closed.
  std::int64_t next = 0;              ///< Number of the frame that video->next() gives; -1: not known.
  std::optional<Frame> last;          ///< Given last, for others; ReaderPool' mutex is of it.
};

/// Any thread may call, without the GIL; see Note [Calls out of a source].
class ReaderPool {
public:
  explicit ReaderPool(VideoReader first);
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  /// Calls `body(VideoReader&)`; calls by number take turns. `control` ends the making of the index.
  template<typename Body>
  auto by_number(const Control& control, Body&& body) {
    const ThreadCalls::Call call(calls_);
    return borrowing(control, body);
  }
  std::shared_ptr<const StreamIndex> index(const Control& control);
  /// Lets go of decoders, source and frames; calls from now on throw.
  void close();
  bool closed() const;

private:
  friend class FrameIterator;
  friend class ReversedFrames;
  using PooledReaderPtr = std::shared_ptr<PooledReader>;
  /// A pooled for the length of a call.
  struct Borrowed {
    explicit Borrowed(ReaderPool& from) : pool(from), pooled(from.take()), lock(pooled->mutex) {}
    ~Borrowed() {
      lock.unlock();
      pool.give_back(pooled);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ReaderPool& pool;
    PooledReaderPtr pooled;
    std::unique_lock<std::mutex> lock;
  };

  /// What by_number() does within a call.
  template<typename Body>
  auto borrowing(const Control& control, Body&& body) {
    const std::lock_guard turn(turns_);
    const Borrowed borrowed(*this);
    borrowed.pooled->next = -1;
    VideoReader& video = open_video(*borrowed.pooled);
    const auto index = video.index(control);
    share_index(index, false);
    auto result = body(video);
    // Decoding may have settled another one.
    if (const auto now = video.index(control); now != index) share_index(now, true);
    return result;
  }
  PooledReaderPtr take();
  void give_back(PooledReaderPtr pooled);
  static VideoReader& open_video(PooledReader& pooled);
  void share_index(std::shared_ptr<const StreamIndex> index, bool replace);
  std::optional<Frame> seen(std::int64_t number) const;
  void keep(PooledReader& pooled, const Frame& frame);
  void ended_at(std::int64_t number, VideoReader& video);
  bool is_end(std::int64_t number) const;
  void count_iterators(int more);

  ThreadCalls calls_{"VideoReader"};
  mutable std::mutex mutex_;
  std::shared_ptr<VideoReader> origin_; ///< The first one's: others are opened as it was.
  std::mutex turns_;
  std::vector<PooledReaderPtr> idle_, all_;
  std::shared_ptr<const StreamIndex> index_;
  std::int64_t end_ = -1; ///< Number of frames, once somebody came to the end.
  int iterators_ = 0;
  bool closed_ = false;
};

/// Frames in order, with a place of its own.
class FrameIterator {
public:
  explicit FrameIterator(std::shared_ptr<ReaderPool> pool);
  ~FrameIterator();
  FrameIterator(const FrameIterator&) = delete;
  FrameIterator& operator=(const FrameIterator&) = delete;

  /// Nothing at the end, and from then on.
  std::optional<Frame> next();

private:
  /// The frame of number next_, or the next one that there is.
  std::optional<Frame> decoded();
  void let_go();

  const std::shared_ptr<ReaderPool> pool_;
  std::mutex mutex_;
  std::shared_ptr<PooledReader> pooled_; ///< Once it had to decode.
  std::int64_t next_ = 0;
  bool ended_ = false;
};

/// Frames from the last one to the first: several at a time, so that few are decoded more than once.
class ReversedFrames {
public:
  explicit ReversedFrames(std::shared_ptr<ReaderPool> pool) : pool_(std::move(pool)) {}
  std::optional<Frame> next(const Control& control);

private:
  void read_more(const Control& control);

  const std::shared_ptr<ReaderPool> pool_;
  std::mutex mutex_;
  std::optional<std::int64_t> left_; ///< Frames that were not read yet; nothing before the first call.
  std::vector<Frame> ready_;         ///< From the last one on; those before `place_` were given.
  std::size_t place_ = 0;
};

} // namespace lanner::python
