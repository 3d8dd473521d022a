#pragma once
// Pictures in, packets out.
// Every noun of video is passive unless it says otherwise: it runs on the caller's thread, holds no thread of
// its own (codecs may, see DecoderOptions::threads) and is used by one thread at a time. Objects keep their
// source alive.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <lanner/image.h>
#include <lanner/packet.h>

namespace lanner {

struct EncoderOptions {
  std::string codec = "h264"; ///< h264, hevc, av1, mjpeg, mpeg4, vp9, ffv1 or an FFmpeg encoder's name.
  std::int32_t width = 0, height = 0;        ///< VideoWriter takes the first picture's where they are 0.
  PixelFormat format = PixelFormat::yuv420p; ///< What the encoder is fed; other inputs are converted.
  Rational rate{30, 1};                      ///< Nominal frames a second.
  Rational time_base;                        ///< Of pts; {0,0} takes 1/rate.
  std::int64_t bit_rate = 0; ///< Bits a second; 0 uses `crf`. One of both alone is given, none where each
                             ///< sample is kept.
  double crf = -1;           ///< Constant quality, the codec's own scale; -1 is its default.
  int gop = 0;        ///< At most so many frames from a keyframe to the next, 0 is the codec's default.
  int b_frames = -1;  ///< Most in a row, -1 is the codec's default.
  std::string preset; ///< `ultrafast` ... `placebo`, or the codec's own.
  int threads = 0;    ///< 0 chooses.
  /// Codec headers lie in StreamInfo::extradata alone, as containers with Muxer::wants_global_header() need
  /// them; else each keyframe has them in front, as bare streams need them. VideoWriter asks its muxer.
  bool global_header = false;
  ColorInfo color; ///< VideoWriter takes the first picture's where the matrix is unspecified.
  Rational sample_aspect{1, 1};
  /// Passed to the FFmpeg encoder; unknown ones are an error, and those that say what a member above says
  /// too.
  std::map<std::string, std::string> codec_options;
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
/// Throws Error{invalid_argument} for options that exclude one another or that the encoder refuses, and
/// Error{unsupported} where there is no such encoder.
std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options);

} // namespace lanner
