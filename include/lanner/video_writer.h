#pragma once
// Pictures in, video files out.
// Every noun of video is passive unless it says otherwise: it runs on the caller's thread, holds no thread of
// its own (codecs may, see DecoderOptions::threads) and is used by one thread at a time. Objects keep their
// source alive.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/encoder.h>
#include <lanner/hdr.h>
#include <lanner/image.h>
#include <lanner/muxer.h>
#include <lanner/source.h>

namespace lanner {

/// What becomes of a picture whose size is not that of the first one.
enum class SizeChange : std::uint8_t {
  error,   ///< It is refused, with the frame's number and time.
  scale,   ///< It is stretched to the first one's size.
  pad,     ///< It keeps its shape: scaled as large as fits, between black bars.
  segment, ///< A new file begins, in its own size: `clip.mp4` is followed by `clip_2.mp4`.
};
std::string_view to_string(SizeChange) noexcept;
SizeChange parse_size_change(std::string_view name); ///< Throws Error{invalid_argument}.

/// How the lines of a picture lie in time.
enum class VideoFields : std::uint8_t { progressive, top_first, bottom_first };

/// Receives one line for each thing that was changed or left out. Must not throw.
using NoteCallback = std::function<void(const std::string&)>;

/// Streams of another container that come into the file as they are, without being decoded.
struct CopiedStreams {
  SourcePtr source; ///< Null: none. Read while the pictures are written, on the same thread.
  DemuxerOptions demuxer;
  bool audio = true, subtitles = true;
  bool attachments = true; ///< Fonts, cover pictures.
  bool chapters = true, tags = true;
  /// Seconds of that container's clock: `begin` is at 0 of the file, or where VideoWriterOptions::begin
  /// becomes 0; packets before and from `end` on are left out. Without a `begin` all packets are copied.
  std::optional<double> begin;
  double end = std::numeric_limits<double>::infinity();
};

struct VideoWriterOptions {
  explicit VideoWriterOptions(EncoderOptions options) : encoder(std::move(options)) {}

  EncoderOptions encoder;
  MuxerOptions muxer;
  SizeChange on_size_change = SizeChange::error;
  CopiedStreams copied;
  /// Seconds of the frames' own clock that become 0. Nothing: times stay as they are, and move only where the
  /// first one lies before 0 or the container begins at 0.
  std::optional<double> begin;
  bool mirror = false; ///< What players do to the pictures: as in StreamInfo. Where the container cannot say
  double rotation = 0; ///< it, a note tells.
  std::map<std::string, std::string> stream_metadata; ///< Tags of the video stream, like `language`.
  HdrMetadata hdr;                                    ///< Written into the container.
  VideoFields fields = VideoFields::progressive;      ///< The same.
  NoteCallback note;
  /// See each picture as it is given to the encoder, with its time in the file, and each packet that the
  /// encoder makes before it is written, null behind its last one.
  std::function<void(const Image&, double seconds)> picture;
  std::function<void(const Packet*, const StreamInfo&)> packet;
};

/// Encoder and muxer in one: images in, a file out. Writes nothing under `path` before finish().
class VideoWriter {
public:
  VideoWriter(const std::string& path, const EncoderOptions& options);
  VideoWriter(std::unique_ptr<Muxer> muxer, const EncoderOptions& options);
  VideoWriter(const std::string& path, const VideoWriterOptions& options);
  /// A given muxer cannot begin segments.
  VideoWriter(std::unique_ptr<Muxer> muxer, const VideoWriterOptions& options);
  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;

  /// pts in `time_base` ticks; no_pts continues by one frame. `duration`: for how many ticks it is shown,
  /// which is seen of the last picture alone; 0 is one frame.
  void write(const Image& image, std::int64_t pts = no_pts, std::int64_t duration = 0);
  /// A frame at its own time: all that are written are shown, and a time that does not grow is moved, which a
  /// note tells. A frame without a time follows the one before. The file counts in ticks of the first
  /// frame's time base, or in those that codec and container can hold. The first write() decides: do not mix
  /// it with the other one.
  void write(const Frame& frame);
  /// Encodes what is left, finishes the file, or all segments, and gives them their names.
  void finish();

  std::int64_t bytes() const noexcept; ///< Written so far, of all segments.
  double seconds() const noexcept;     ///< How long the pictures so far last, as they are shown.
  const std::vector<std::string>& paths() const noexcept; ///< Of the files; none of a given muxer.

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The first codec that players show in a container which this machine's FFmpeg can encode, set so that its
/// pictures are good: some encoders would otherwise aim at a bit rate for telephones. `format` is FFmpeg's
/// name; H.264 for those that are not known.
EncoderOptions encoder_for_format(std::string_view format);
/// FFmpeg's name of the container that an extension like `.mkv` stands for, empty where it is not known.
std::string_view format_of_extension(std::string_view extension) noexcept;

} // namespace lanner
