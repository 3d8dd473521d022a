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
  bool key = false;                   ///< Keyframe, as the container says.
  EntryPoint entry = EntryPoint::none;
};
/// Exact list of the frames of one stream, made from all its packets. Immutable once built: readers on any
/// threads may share it.
struct StreamIndex {
  int stream = 0;
  Rational time_base;
  std::vector<IndexEntry> frames;
  std::shared_ptr<const void> packets; ///< Private to readers.
};

struct IndexOptions {
  DemuxerOptions demuxer;
  int stream = -1; ///< -1 takes best_video().
  /// Read the index from the user's cache folder, or store it there: `index/` in LANNER_CACHE_DIR, else in
  /// the cache folder of the XDG specification. Its key is the file's size, modification time and a hash of
  /// parts of its content; sources that are no files are not cached.
  bool cache = true;
};
/// Reads the whole source once; decodes only if the packets alone do not determine the frames.
std::shared_ptr<const StreamIndex> build_index(SourcePtr source, const IndexOptions& options = {},
                                               const Control& control = {});

struct VideoReaderOptions {
  int stream = -1; ///< -1 takes best_video().
  DemuxerOptions demuxer;
  DecoderOptions decoder;
  bool cache_index = true; ///< See IndexOptions::cache.
  /// An index built earlier from this same source and stream; null: it is built when needed.
  std::shared_ptr<const StreamIndex> index;
  /// Number of decoders that work in parallel, each on its own GOPs. 0: chosen, on a GPU by its decoding
  /// engines, on a CPU by its cores and the length of the GOPs.
  int decoders = 0;
  /// The most bytes of decoded frames that wait to be read; 0: chosen by the machine's memory.
  std::uint64_t frame_bytes = 0;
  int prefetch = 0; ///< Number of frames that a thread decodes ahead for next(); 0: no thread.
  /// Rotate and mirror frames as a player does. Frame::rotation is then 0, or what remains of a rotation that
  /// is no multiple of 90 degrees, and Frame::mirror is false. Rotated frames have 4:4:4 chroma, see
  /// rotated_image(). False: frames are as they were decoded.
  bool rotate = true;
  std::optional<PixelFormat> format;    ///< Format to convert frames to; unset: the decoder's.
  std::optional<Preprocess> preprocess; ///< Also fill Frame::tensor, on the decoding thread.
};

/// Frames of one stream by number and by time. A call checks its `control` at each frame. Opens its own
/// demuxer and decoders. Owns threads only while several decoders work for at() or batch(), or next()
/// prefetches. size() and random access build the index at first use.
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
  /// Exact number of frames.
  std::int64_t size();
  std::shared_ptr<const StreamIndex> index(const Control& control = {});
  /// The next frame in presentation order; nothing at the end. Throws Error{bad_data} if the stream has no
  /// frame.
  std::optional<Frame> next();
  /// Frame `i` of 0..size()-1, with the same bytes as in linear decoding. next() then continues after it.
  Frame at(std::int64_t i);
  /// One frame for each number, in their order; numbers may repeat. Only these frames and those that they
  /// depend on are decoded, each GOP once, several GOPs in parallel.
  std::vector<Frame> at(std::span<const std::int64_t> indices, const Control& control = {});
  /// The frames as one tensor [N] + output_shape, on `DecoderOptions::output`. Frames of unequal size need a
  /// size in `spec`, else Error{invalid_argument}.
  Tensor batch(std::span<const std::int64_t> indices, const Preprocess& spec, const Control& control = {});

  /// Number of the frame shown at `seconds` of the stream's clock: the last one that begins at or before it.
  /// Throws Error{invalid_argument} before the first frame begins and after the last one has ended.
  std::int64_t index_at(double seconds);
  /// Numbers of the frames shown at any time in [begin, end), in seconds.
  std::vector<std::int64_t> indices_played_in(double begin, double end);
  /// `count` numbers spread evenly: the middle frames of `count` equal parts of the stream.
  std::vector<std::int64_t> sample(std::int64_t count);
  /// Numbers of the frames shown at begin, begin + 1/rate, ... up to the end of the stream.
  std::vector<std::int64_t> sample(Rational rate);
  void rewind();
  /// Another reader of the same source with the same options and its own decoders, at the first frame; both
  /// may be used on different threads at the same time, and this call may be made while another thread uses
  /// this reader. With an `index` none is built. Throws Error{unsupported} if the source is not seekable.
  VideoReader reopen(std::shared_ptr<const StreamIndex> index = nullptr) const;

private:
  friend void decode_ahead(VideoReader& reader,
                           std::size_t readers); // Used by pipelines: video/read/decode_ahead.h.
  struct State;
  explicit VideoReader(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

/// All frames of one stream in order, decoded by several decoders in parallel, each on its own spans of GOPs.
/// A file is split only where decoding can begin exactly, so that the frames are those of a single decoder.
/// Owns its threads, which end when it is destroyed. Memory is bounded by VideoReaderOptions::frame_bytes.
/// Sources that are not seekable, and streams with a single span, use one decoder.
class ParallelDecoder {
public:
  explicit ParallelDecoder(SourcePtr source, const VideoReaderOptions& options = {},
                           const Control& control = {});
  ~ParallelDecoder();
  ParallelDecoder(ParallelDecoder&&) noexcept;
  ParallelDecoder& operator=(ParallelDecoder&&) noexcept;

  const StreamInfo& stream() const noexcept;
  std::int64_t size() const noexcept; ///< Number of frames, -1 if it is not known in advance.
  std::optional<Frame> next();        ///< The next frame in presentation order; nothing at the end.
  std::string description() const;    ///< `7 x nvdec h264 on cuda:0, 100 spans`.
  const std::string& decoder_reason() const noexcept;
  /// For its streams and metadata; use it only before the first next().
  const Demuxer& demuxer() const noexcept;
  /// Makes the first frame the next one.
  void rewind();
  /// Another decoder of the same frames, from the first one on, as VideoReader::reopen().
  ParallelDecoder reopen(const Control& control = {}) const;

private:
  struct State;
  explicit ParallelDecoder(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

} // namespace lanner
