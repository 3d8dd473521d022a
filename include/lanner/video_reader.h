#pragma once
// Frames of a video by number and by time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/preprocess.h>
#include <lanner/tensor.h>

namespace lanner {

/// One frame of a stream's index, in presentation order.
struct IndexEntry {
  std::int64_t pts = 0, duration = 0; ///< Ticks.
  bool key = false;                   ///< By the container.
  EntryPoint entry = EntryPoint::none;
};
/// Exact frame list of one stream, from all its packets. Immutable once built: any number of readers on any
/// threads share one.
struct StreamIndex {
  int stream = 0;
  Rational time_base;
  std::vector<IndexEntry> frames;
  std::shared_ptr<const void> packets; ///< Private to readers.
};

struct IndexOptions {
  DemuxerOptions demuxer;
  int stream = -1; ///< -1 takes best_video().
  /// Look for the index in the user's cache folder, and leave it there: `index/` in LANNER_CACHE_DIR, else in
  /// the cache folder of the XDG specification. Keyed by the file's size, modification time and a hash of
  /// pieces of it; only files have one.
  bool cache = true;
};
/// Reads the whole source once, without decoding where its packets tell all.
std::shared_ptr<const StreamIndex> build_index(SourcePtr source, const IndexOptions& options = {},
                                               const Control& control = {});

struct VideoReaderOptions {
  int stream = -1; ///< -1 takes best_video().
  DemuxerOptions demuxer;
  DecoderOptions decoder;
  bool cache_index = true;                  ///< See IndexOptions::cache.
  std::shared_ptr<const StreamIndex> index; ///< Of this very source and stream, built before; null builds it.
  /// Decoders at work side by side, each on GOPs of its own. 0 chooses: on a GPU by its engines, on a CPU by
  /// its cores and the length of the GOPs.
  int decoders = 0;
  std::uint64_t frame_bytes =
      0;            ///< Bound of the frames that wait decoded; 0 chooses by the machine's memory.
  int prefetch = 0; ///< next() is served by a thread that keeps this many frames ready.
  /// Turn and mirror pictures as a player does: Frame::rotation is 0 then, or what is left of a turn by other
  /// than quarters, and Frame::mirror is false. A picture that is turned has whole chroma: see
  /// rotated_image(). Without it frames are as they were decoded.
  bool rotate = true;
  std::optional<PixelFormat> format;    ///< Convert frames to it; nothing keeps the decoder's own.
  std::optional<Preprocess> preprocess; ///< Fill Frame::tensor too, on the decoding thread.
};

/// Frames of one stream by number and by time. A call's `control` is asked at each frame. Opens its own
/// demuxer and decoders. Owns threads only while at(), batch() or a prefetching next() have several decoders
/// at work. size() and random access build the index at first use.
class VideoReader {
public:
  explicit VideoReader(SourcePtr source, const VideoReaderOptions& options = {});
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  const StreamInfo& stream() const noexcept;
  const Demuxer& demuxer() const noexcept;
  std::string decoder_description() const;
  const std::string& decoder_reason() const noexcept;
  /// Exact number of frames that decoding gives.
  std::int64_t size();
  std::shared_ptr<const StreamIndex> index(const Control& control = {});
  /// The next frame in presentation order; nothing at the end. A stream without any is Error{bad_data}.
  std::optional<Frame> next();
  /// Frame `i` of 0..size()-1, the same bytes as linear decoding gives. Continues from there with next().
  Frame at(std::int64_t i);
  /// One frame for each number, in their order; numbers may repeat. Only what they depend on is decoded, each
  /// GOP once, several GOPs at a time.
  std::vector<Frame> at(std::span<const std::int64_t> indices, const Control& control = {});
  /// The frames as one tensor [N] + output_shape, on `DecoderOptions::output`. Frames of unequal size need a
  /// size in `spec`, else Error{invalid_argument}.
  Tensor batch(std::span<const std::int64_t> indices, const Preprocess& spec, const Control& control = {});

  /// Number of the frame that is on the screen at `seconds` of the stream's own clock: the last that began by
  /// then. Throws Error{invalid_argument} before the first frame's begin and from the last one's end on.
  std::int64_t index_at(double seconds);
  /// Numbers of the frames on the screen at some time of [begin, end).
  std::vector<std::int64_t> indices_played_in(double begin, double end);
  /// `count` numbers spread evenly: the middle frames of `count` equal parts of the stream.
  std::vector<std::int64_t> sample(std::int64_t count);
  /// Numbers of the frames on the screen at begin, begin + 1/rate, ... up to the end.
  std::vector<std::int64_t> sample(Rational rate);
  void rewind();
  /// Another reader of the same source and options, at its beginning, with decoders of its own: threads may
  /// use it beside this one, also while this one is at work. `index`, where one is given, is not built again.
  /// Throws Error{unsupported} where the source cannot go back.
  VideoReader reopen(std::shared_ptr<const StreamIndex> index = nullptr) const;

private:
  friend void decode_ahead(VideoReader& reader,
                           std::size_t readers); // A pipeline's: video/read/decode_ahead.h.
  struct State;
  explicit VideoReader(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

/// All frames of one stream in order, by several decoders at once, each on spans of GOPs of its own: a file
/// is split where decoding may begin exactly, so the frames are those of a single decoder. Owns its threads;
/// ends them when destroyed. Memory is bounded by VideoReaderOptions::frame_bytes. Sources that cannot go
/// back, and streams with one span, are decoded by one decoder.
class ParallelDecoder {
public:
  explicit ParallelDecoder(SourcePtr source, const VideoReaderOptions& options = {},
                           const Control& control = {});
  ~ParallelDecoder();
  ParallelDecoder(ParallelDecoder&&) noexcept;
  ParallelDecoder& operator=(ParallelDecoder&&) noexcept;

  const StreamInfo& stream() const noexcept;
  std::int64_t size() const noexcept; ///< Frames that will come, -1 where that is not known ahead.
  std::optional<Frame> next();        ///< The next frame in presentation order; nothing at the end.
  std::string description() const;    ///< `7 x nvdec h264 on cuda:0, 100 spans`.
  const std::string& decoder_reason() const noexcept;
  const Demuxer& demuxer() const noexcept; ///< Its streams and facts, before the first next().
  /// The next frame is the first one.
  void rewind();
  /// The same frames once more, from the first one on, by decoders of its own; as VideoReader::reopen().
  ParallelDecoder reopen(const Control& control = {}) const;

private:
  struct State;
  explicit ParallelDecoder(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

} // namespace lanner
