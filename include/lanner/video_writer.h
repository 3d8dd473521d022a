#pragma once
// Pictures in, video files out.
// Objects of the video API are passive unless documented otherwise: they run on the caller's thread, own no
// threads (codecs may, see DecoderOptions::threads), are used by one thread at a time, and keep their source
// alive.

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

#include <lanner/audio_reader.h>
#include <lanner/decoder.h>
#include <lanner/demuxer.h>
#include <lanner/encoder.h>
#include <lanner/hdr.h>
#include <lanner/image.h>
#include <lanner/muxer.h>
#include <lanner/source.h>

namespace lanner {

/// What happens to a picture whose size differs from the first one's.
enum class SizeChange : std::uint8_t {
  error,   ///< It is an error, with the frame's number and time.
  scale,   ///< It is stretched to the first one's size.
  pad,     ///< It keeps its aspect ratio: scaled to fit, with black bars.
  segment, ///< A new file begins, in its own size: `clip.mp4` is followed by `clip_2.mp4`.
};
std::string_view to_string(SizeChange) noexcept;
SizeChange parse_size_change(std::string_view name); ///< Throws Error{invalid_argument}.

/// Progressive, or which field of a picture is first in time.
enum class VideoFields : std::uint8_t { progressive, top_first, bottom_first };

/// Receives one line for each thing that was changed or left out. Must not throw.
using NoteCallback = std::function<void(const std::string&)>;

/// Streams of another container that are copied into the file without decoding.
struct CopiedStreams {
  SourcePtr source; ///< Null: none. Read while the pictures are written, on the same thread.
  DemuxerOptions demuxer;
  bool audio = true, subtitles = true;
  bool attachments = true; ///< Fonts, cover pictures.
  bool chapters = true, tags = true;
  /// The part to copy, in seconds of that container's clock: `begin` becomes time 0 of the file, as
  /// VideoWriterOptions::begin does; packets before it and from `end` on are left out. Unset:
  /// VideoWriterOptions::begin, if that is set; else packets are copied from the first one on.
  std::optional<double> begin;
  double end = std::numeric_limits<double>::infinity();
};

/// An audio stream that is encoded beside the pictures.
struct AudioEncoderOptions {
  /// aac, opus, flac, mp3, vorbis, ac3, alac, pcm_s16le ..., or an FFmpeg encoder's name; empty: the
  /// container's usual one.
  std::string codec;
  /// Of the samples that are written, 100 to 768000. Codecs that do not have the rate get the next higher one
  /// that they have, by resampling; a note says so.
  std::int32_t sample_rate = 48000;
  std::int32_t channels = 2;                   ///< 1 to 64.
  std::int64_t bit_rate = 0;                   ///< Bits per second; 0: the encoder's default.
  std::map<std::string, std::string> metadata; ///< Tags of the stream, like `language`.
};

struct VideoWriterOptions {
  explicit VideoWriterOptions(EncoderOptions options) : encoder(std::move(options)) {}

  EncoderOptions encoder;
  /// Encode in the pixel format of the first picture, or the nearest that the encoder supports, instead of
  /// EncoderOptions::format, if is_lossless().
  bool keep_format = false;
  MuxerOptions muxer;
  SizeChange on_size_change = SizeChange::error;
  CopiedStreams copied;
  /// The time, in seconds of the frames' clock, that becomes 0 in the file. Unset: times are kept, unless the
  /// first one is negative or the container always begins at 0.
  std::optional<double> begin;
  bool mirror = false; ///< How players show the pictures, as in StreamInfo. If the container cannot
  double rotation = 0; ///< store it, a note says so.
  std::map<std::string, std::string> stream_metadata; ///< Tags of the video stream, like `language`.
  HdrMetadata hdr; ///< Written into the container; HDR metadata of `encoder` takes precedence.
  VideoFields fields = VideoFields::progressive; ///< Written into the container.
  std::optional<AudioEncoderOptions> audio;      ///< For write_audio().
  NoteCallback note;
  /// `picture` is called with each picture that is sent to the encoder and its time in the output; `packet`
  /// with each packet before it is written, and with null after the last one.
  std::function<void(const Image&, double seconds)> picture;
  std::function<void(const Packet*, const StreamInfo&)> packet;
};

/// Encoder and muxer in one: images in, a file out. Writes nothing under `path` before finish().
class VideoWriter {
public:
  VideoWriter(const std::string& path, const EncoderOptions& options);
  VideoWriter(std::unique_ptr<Muxer> muxer, const EncoderOptions& options);
  VideoWriter(const std::string& path, const VideoWriterOptions& options);
  /// SizeChange::segment is Error{invalid_argument} here.
  VideoWriter(std::unique_ptr<Muxer> muxer, const VideoWriterOptions& options);
  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;

  /// pts in `time_base` ticks; no_pts: at the end of the previous picture. `duration`: for how many ticks the
  /// picture is shown, 0: one frame; it matters for the last picture only, as others are shown until the next
  /// one.
  void write(const Image& image, std::int64_t pts = no_pts, std::int64_t duration = 0);
  /// Writes a frame at its own time. No frame is dropped: a time that does not increase is moved, and a note
  /// says so. A frame without a time follows the previous one. The file's time base is
  /// EncoderOptions::time_base, else that of the first frame, or one that codec and container support. Using
  /// both write() functions is Error{invalid_argument}.
  void write(const Frame& frame);
  /// Appends audio, [channels, samples] of f32 from -1 to 1, i16 or i32 in host memory. It is heard at
  /// `seconds` of the pictures' own clock; unset: behind the audio before, at first at 0 of the file. A gap
  /// before it is filled with silence. What begins before the end of the audio before is moved behind it, and
  /// what is heard before 0 of the file is left out; notes say so. Audio may come in any order with the
  /// pictures; it is kept in memory until the pictures of its time have come. With SizeChange::segment each
  /// file has the audio of its own time, to the sample. Throws
  /// Error{invalid_argument} without VideoWriterOptions::audio and for another number of channels.
  void write_audio(const Tensor& samples, std::optional<double> seconds = std::nullopt);
  /// At its own time. Another sample rate than that of the options is Error{invalid_argument}.
  void write_audio(const AudioSamples& samples);
  /// Encodes what remains, completes the file, or all segments, and renames them to their final names.
  void finish();

  std::int64_t bytes() const noexcept; ///< Written so far, of all segments.
  double seconds() const noexcept;     ///< End of the last picture so far, in the output.
  /// Paths of all files; empty with the caller's muxer.
  const std::vector<std::string>& paths() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Options for a container: the first of its usual codecs that the installed FFmpeg can encode, with settings
/// for good quality, as some encoders default to a very low bit rate. `format` is FFmpeg's name; H.264 for an
/// unknown one.
EncoderOptions encoder_for_format(std::string_view format);
/// `given` with what it leaves open: the container's codec where its own is empty, and the good quality of
/// that codec where it says nothing of quality or rate.
EncoderOptions encoder_for_format(std::string_view format, EncoderOptions given);
/// Whether decoding gives every sample back: by the tuning, or with a codec that has no other way (ffv1,
/// png).
bool is_lossless(const EncoderOptions& options) noexcept;
/// Whether it is the container (by FFmpeg's name) of an animation: gif, apng or webp. It holds the codec of
/// its own name alone; VideoWriter stores the alpha of the first picture.
bool is_animation(std::string_view format) noexcept;
/// The usual audio codec of a container, by FFmpeg's name.
std::string_view audio_codec_for_format(std::string_view format) noexcept;
/// FFmpeg's name of the container for an extension like `.mkv`, empty if it is not known.
std::string_view format_of_extension(std::string_view extension) noexcept;

} // namespace lanner
