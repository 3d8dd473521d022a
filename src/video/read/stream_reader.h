#pragma once
// Frames of one stream by all ways there are: in order, ahead, by number, side by side.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/team.h"
#include "video/index/index_build.h"
#include "video/read/cursor_pool.h"
#include "video/read/serial_ahead.h"
#include "video/read/serial_reader.h"
#include "video/read/span_scheduler.h"

namespace lanner {

class DamagedPicture;

/// What VideoReader and ParallelDecoder are made of. One thread at a time.
class StreamReader {
public:
  /// `ahead`: next() is always served by threads that work ahead, as far as frame_bytes allows.
  StreamReader(SourcePtr source, const VideoReaderOptions& options, const Control& control, bool ahead);

  const FrameCursor& cursor() const noexcept { return serial_.cursor(); }
  /// Of its decoder, as it was opened: a thread that works ahead may be using the decoder itself.
  const std::string& decoder_description() const noexcept { return description_; }
  /// Built at the first call, with `control` where one is given, else with the reader's own.
  std::shared_ptr<const StreamIndex> index(const Control* control = nullptr);
  /// -1 before there is an index.
  std::int64_t known_size() const noexcept {
    return index_ ? static_cast<std::int64_t>(index_->frames.size()) : -1;
  }
  std::int64_t size() { return static_cast<std::int64_t>(index()->frames.size()); }
  const VideoReaderOptions& options() const noexcept { return options_; }
  /// What options_ and this are is settled when the reader is made: any thread may look at them.
  const SourcePtr& source() const noexcept { return source_; }

  std::optional<Frame> next();
  Frame at(std::int64_t i);
  std::vector<Frame> at(std::span<const std::int64_t> indices, const Control& control);
  Tensor batch(std::span<const std::int64_t> indices, const Preprocess& spec, const Control& control);
  void rewind();
  /// Before the first next(): see video/read/decode_ahead.h.
  void decode_ahead(int readers);

  /// Decoders that next() keeps at work.
  const Workers& linear_workers() const noexcept { return linear_; }
  /// Whether next() is served by several decoders. Builds the index where that needs it.
  bool is_parallel();
  std::size_t spans() const noexcept { return parts_ ? parts_->plan.size() : 1; }

private:
  void choose_linear_workers();
  IndexRequest request(const Control& control) const;
  void adopt(std::shared_ptr<const StreamIndex> index);
  void adopt_given();
  void settle();
  /// Whether what decoding contradicts now is what this reader found by decoding: no other index would hold.
  bool settled_again() const { return settled_here_ && parts_->content->settled; }
  void mind_fork();
  void start_ahead();
  void stop_ahead();
  std::optional<Frame> next_ahead();
  std::optional<Frame> next_here();
  QueueBound bound() const;
  const nvdec::Resources* gpu() const noexcept { return gpu_ ? &*gpu_ : nullptr; }
  void require_frame(std::int64_t i);
  /// Frame `i` by its number: see Note [Stepping back].
  Frame seek(std::int64_t i);
  std::int64_t first_kept_before(std::int64_t i) const;
  /// `next`: the frame's number where no index tells it, -1 for unknown; `near`: where that is, then.
  Error located(const DamagedPicture& damage, std::int64_t next, const std::string& near) const;
  void gather(const std::vector<std::int64_t>& wanted, const FrameFinish& finish, const Control& control,
              const std::function<void(Frame)>& give);
  void gather_once(const std::vector<std::int64_t>& wanted, const FrameFinish& finish,
                   const std::function<void(Frame)>& give);

  SourcePtr source_;
  VideoReaderOptions options_;
  Control control_;
  bool always_ahead_;
  int readers_ = 1;                     ///< At work, this one among them, that share a GPU.
  std::optional<nvdec::Resources> gpu_; ///< Nothing on a CPU.
  Workers linear_;                      ///< That next() keeps at work.
  FrameFinish finish_;
  SerialReader serial_;
  std::string description_;
  std::shared_ptr<CursorPool> cursors_;
  std::shared_ptr<LinearReader> linear_reader_;
  std::shared_ptr<const StreamIndex> index_;
  PartsPtr parts_;
  bool settled_here_ = false;     ///< The index was made anew, by this reader.
  bool one_decoder_ = false;      ///< Spans have failed: the settled index does not hold either.
  std::int64_t last_ = -1;        ///< Number of the frame given last.
  std::vector<Frame> kept_;       ///< Those in front of it, in their order, where it was stepped back to.
  unsigned forks_ = forks_seen(); ///< When decoders were made.
  bool begun_ = false;            ///< Frames were asked for since the beginning.
  std::unique_ptr<SpanScheduler> spans_ahead_;
  std::unique_ptr<SerialAhead> serial_ahead_;
};

} // namespace lanner
