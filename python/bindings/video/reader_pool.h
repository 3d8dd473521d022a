#pragma once
// The C++ readers that one Python VideoReader uses.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <lanner/video_reader.h>

#include "video/thread_calls.h"

namespace lanner::python {

// Note [ReaderPool]
// A Python VideoReader is a sequence: iterators are independent of each other and of access by number. A C++
// VideoReader has one position, so a pool holds as many readers as are needed at once, over one source and
// index. An iterator takes a reader when it first has to decode, and keeps it, so that it decodes linearly; a
// call by number takes one for its duration. Returned readers are used again. While there are several
// iterators, each reader's last frame is kept: iterators that advance together, as in zip(v, v), need one
// reader, because the second one finds the frame that the first one decoded.

/// A reader of the pool, used by one iterator or call at a time.
struct PooledReader {
  explicit PooledReader(std::shared_ptr<VideoReader> reader) : video(std::move(reader)) {}
  std::mutex mutex;                   ///< Of `video` and `next`.
  std::shared_ptr<VideoReader> video; ///< Null once it was closed.
  std::int64_t next = 0;              ///< Number of the frame that video->next() gives; -1: not known.
  std::optional<Frame> last;          ///< The last frame, for other iterators; guarded by the pool's mutex.
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
  /// Releases decoders, source and frames; later calls throw.
  void close();
  bool closed() const;

private:
  friend class FrameIterator;
  friend class ReversedFrames;
  using PooledReaderPtr = std::shared_ptr<PooledReader>;
  /// A reader for the duration of a call.
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
  std::shared_ptr<VideoReader> origin_; ///< The first one; others are opened like it.
  std::mutex turns_;
  std::vector<PooledReaderPtr> idle_, all_;
  std::shared_ptr<const StreamIndex> index_;
  std::int64_t end_ = -1; ///< Number of frames, once an iterator reached the end.
  int iterators_ = 0;
  bool closed_ = false;
};

/// Iterates over the frames in order.
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
