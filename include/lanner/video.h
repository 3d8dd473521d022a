#pragma once
// Video, from container to frames and back. Every noun here is passive: it runs on the caller's thread, holds
// no thread of its own (codecs may, see `threads`) and is used by one thread at a time. Objects keep their
// source alive.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/image.h>
#include <lanner/limits.h>
#include <lanner/source.h>

namespace lanner {

/// An exact fraction; `den` is > 0 where the value is known, 0 where it is not.
struct Rational {
  std::int64_t num = 0, den = 0;
  double to_double() const noexcept {
    return den ? static_cast<double>(num) / static_cast<double>(den) : 0.0;
  }
  friend bool operator==(const Rational&, const Rational&) = default;
};

/// Marks a timestamp that the stream does not give.
inline constexpr std::int64_t no_pts = INT64_MIN;

/// What a container says of one stream; nothing in it is taken for true before decoding.
struct StreamInfo {
  int index = 0;
  std::string kind;                   ///< `video`, `audio`, `subtitle`, `data`, `attachment`.
  std::string codec;                  ///< FFmpeg's name: `h264`, `hevc`, `av1`.
  std::string profile;                ///< `High`, empty when unknown.
  std::int32_t width = 0, height = 0; ///< Display size after cropping, before rotation.
  PixelFormat format = PixelFormat::yuv420p;
  std::string native_format; ///< FFmpeg's name of the decoder's format, also where PixelFormat has no twin.
  int bit_depth = 8;
  bool interlaced = false; ///< Fields, by the codec's headers.
  Rational time_base;      ///< Seconds of one tick.
  Rational average_rate;   ///< Frames a second, by the container.
  Rational sample_aspect{1, 1};
  double rotation = 0; ///< Degrees clockwise that a player turns the picture by.
  std::int64_t start_pts = no_pts;
  std::int64_t duration = 0; ///< In ticks, 0 when unknown.
  std::int64_t frames = 0;   ///< As the container says, 0 when it does not.
  std::int64_t bit_rate = 0;
  ColorInfo color;
  std::vector<std::byte> extradata;
  std::map<std::string, std::string> metadata;
  /// The whole description in the form of the module that made it, private to that module; null where the
  /// caller filled the fields above by hand. Clear it after changing a field.
  std::shared_ptr<const void> parameters;
};

/// A piece of a compressed stream. Copies share the bytes.
struct Packet {
  int stream = 0;
  std::int64_t pts = no_pts, dts = no_pts, duration = 0; ///< Ticks of the stream's time base.
  std::int64_t pos = -1;                                 ///< Byte position in the source, -1 when unknown.
  bool key = false;
  bool discard = false; ///< Decode, do not show (edit lists).
  bool discontinuity = false;
  bool corrupt = false; ///< The container knows that bytes are missing.
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes`; private to the module that made it.
};

/// A decoded picture with its time. `image` shares memory with the decoder, which may still predict from it:
/// never write to it, copy first. It stays valid for as long as it is held.
struct Frame {
  Image image;
  std::int64_t pts = no_pts;
  std::int64_t duration = 0;
  Rational time_base;
  double rotation = 0;
  Rational sample_aspect{1, 1};
  bool key = false;
  bool corrupt = false; ///< The decoder concealed damage.
  bool interlaced = false;
  std::int64_t index = -1; ///< Presentation index where a VideoReader knows it.

  double seconds() const noexcept {
    return pts == no_pts ? 0.0 : static_cast<double>(pts) * time_base.to_double();
  }
};

struct DemuxerOptions {
  Limits limits;
  /// Playlists (HLS, DASH, concat) may open further files. Off: every open besides the source is refused.
  bool allow_nested_opens = false;
  std::string format; ///< FFmpeg's demuxer name; empty probes.
  CancelToken cancel;
};

/// Splits a container into packets.
class Demuxer {
public:
  virtual ~Demuxer() = default;
  virtual const std::string& format() const noexcept = 0; ///< `mov,mp4,m4a,...`.
  virtual const std::vector<StreamInfo>& streams() const noexcept = 0;
  virtual double duration() const noexcept = 0; ///< Seconds, 0 when unknown.
  /// The stream a player would show, -1 when there is none.
  virtual int best_video() const noexcept = 0;
  /// Reads only these streams from now on; the others are skipped where the container allows it.
  virtual void select(std::span<const int> streams) = 0;
  /// The next packet of any selected stream (all of them by default) in file order; nothing at the end.
  /// Throws Error{bad_data, cancelled}.
  virtual std::optional<Packet> next() = 0;
  /// What next() found missing when the container ended early; empty while nothing is known to be.
  virtual const std::string& damage() const noexcept = 0;
  /// Continues at the last keyframe of `stream` at or before `pts` (its ticks).
  virtual void seek(int stream, std::int64_t pts) = 0;
  /// Continues with what begins at byte `pos` (Packet::pos): the way in streams without timestamps. Throws
  /// Error{unsupported} for containers that can only be entered through their tables.
  virtual void seek_to_byte(std::int64_t pos) = 0;
};
std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options = {});

struct DecoderOptions {
  int threads = 0; ///< Codec threads; 0 takes the machine's cores.
  /// A damaged packet is Error{bad_data}, for a VideoReader a container that ends early too. Else damage is
  /// concealed, the frame is marked, and what cannot be read ends the stream.
  bool raise_on_error = false;
  Limits limits;
  Device device;
};

/// Turns packets of one stream into frames in presentation order.
class Decoder {
public:
  virtual ~Decoder() = default;
  /// Takes one packet, or the end of the stream (nullptr). Returns false when receive() must be called first.
  virtual bool send(const Packet* packet) = 0;
  /// The next frame; nothing when more input is needed or, after the end was sent, when none is left
  /// (finished()).
  virtual std::optional<Frame> receive() = 0;
  virtual bool finished() const noexcept = 0;
  /// Forgets all state, after a seek.
  virtual void flush() = 0;
  virtual std::string description() const = 0; ///< `ffmpeg h264, 2 threads`.
};
std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options = {});

struct EncoderOptions {
  std::string codec = "h264"; ///< h264, hevc, av1, mjpeg, mpeg4, vp9, ffv1 or an FFmpeg encoder's name.
  std::int32_t width = 0, height = 0;        ///< VideoWriter takes the first picture's where they are 0.
  PixelFormat format = PixelFormat::yuv420p; ///< What the encoder is fed; other inputs are converted.
  Rational rate{30, 1};                      ///< Nominal frames a second.
  Rational time_base;                        ///< Of pts; {0,0} takes 1/rate.
  std::int64_t bit_rate = 0;                 ///< Bits a second; 0 uses `crf`.
  double crf = -1;                           ///< Constant quality, the codec's own scale; -1 is its default.
  int gop = 0;                               ///< Frames between keyframes, 0 is the codec's default.
  int b_frames = -1;
  std::string preset; ///< `ultrafast` ... `placebo`, or the codec's own.
  int threads = 0;
  bool global_header = true;
  ColorInfo color; ///< VideoWriter takes the first picture's where the matrix is unspecified.
  Rational sample_aspect{1, 1};
  std::map<std::string, std::string>
      codec_options; ///< Passed to the FFmpeg encoder; unknown ones are an error.
};

/// Turns images into packets.
class Encoder {
public:
  virtual ~Encoder() = default;
  virtual const StreamInfo& stream() const noexcept = 0; ///< For the muxer; complete from the start.
  /// Takes a picture (any format of the encoder's size) and its pts in `time_base` ticks, or the end
  /// (nullptr).
  virtual bool send(const Image* image, std::int64_t pts = no_pts) = 0;
  virtual std::optional<Packet> receive() = 0;
  virtual bool finished() const noexcept = 0;
};
std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options);

/// Writes a container beside `path` and renames it on finish(); an object that dies before leaves nothing
/// behind.
class Muxer {
public:
  virtual ~Muxer() = default;
  /// Whether this container keeps codec headers apart: what EncoderOptions::global_header must be.
  virtual bool wants_global_header() const noexcept = 0;
  /// Declares a stream before the first write; returns its index.
  virtual int add_stream(const StreamInfo& stream) = 0;
  /// Takes a packet whose `stream` is the index given by add_stream and whose times are in that stream's time
  /// base.
  virtual void write(const Packet& packet) = 0;
  virtual void finish() = 0;
};
std::unique_ptr<Muxer> create_muxer(const std::string& path, const std::string& format = {});

/// One entry of a stream's index, in presentation order.
struct IndexEntry {
  std::int64_t pts = 0, duration = 0;
  bool key = false;
};
/// Exact frame list of one stream, from all its packets.
struct StreamIndex {
  int stream = 0;
  Rational time_base;
  std::vector<IndexEntry> frames;
};
/// Reads the whole source once without decoding.
StreamIndex build_index(SourcePtr source, int stream = -1, const DemuxerOptions& options = {},
                        const Control& control = {});

struct VideoReaderOptions {
  int stream = -1; ///< -1 takes best_video().
  DemuxerOptions demuxer;
  DecoderOptions decoder;
};

/// Frames of one stream by number. Opens its own demuxer and decoder; owns no thread (codecs may).
/// `size()` and random access build the index at first use.
class VideoReader {
public:
  explicit VideoReader(SourcePtr source, const VideoReaderOptions& options = {});
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  const StreamInfo& stream() const noexcept;
  const Demuxer& demuxer() const noexcept;
  std::string decoder_description() const;
  /// Exact number of frames that decoding gives.
  std::int64_t size();
  const StreamIndex& index();
  /// The next frame in presentation order; nothing at the end. A stream without any is Error{bad_data}.
  std::optional<Frame> next();
  /// Frame `i` of 0..size()-1, the same bytes as linear decoding gives. Continues from there with next().
  Frame at(std::int64_t i);
  /// Frames `begin, begin+step, ...` of `count`; each GOP is decoded once.
  std::vector<Frame> at(std::span<const std::int64_t> indices);
  void rewind();

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Encoder and muxer in one: images in, a file out. Writes nothing under `path` before finish().
class VideoWriter {
public:
  VideoWriter(const std::string& path, const EncoderOptions& options);
  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;

  /// pts in `time_base` ticks; no_pts continues by one frame.
  void write(const Image& image, std::int64_t pts = no_pts);
  void finish();

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the linked FFmpeg can do, for `lanner doctor`. Empty lists when the module is missing.
struct VideoSupport {
  bool available = false;
  std::string path, version, reason; ///< Where the module lies, FFmpeg's version, why it is missing.
  std::vector<std::string> decoders, encoders, demuxers, muxers;
};
VideoSupport video_support();

} // namespace lanner
