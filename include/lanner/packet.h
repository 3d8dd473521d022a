#pragma once
// Compressed streams: their description by the container, and their packets.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/image.h>

namespace lanner {

/// An exact fraction; `den` is > 0 where the value is known, 0 where it is not.
struct Rational {
  std::int64_t num = 0, den = 0;
  double to_double() const noexcept {
    return den ? static_cast<double>(num) / static_cast<double>(den) : 0.0;
  }
  friend bool operator==(const Rational&, const Rational&) = default;
};

/// Seconds of a timestamp: the double nearest to pts * time_base as long as pts * num is below 2^53, so that
/// frame 35 at 25 frames per second is at 35 / 25.0. 0 for a time base of 0.
inline double seconds_of(std::int64_t pts, const Rational& time_base) noexcept {
  if (time_base.den == 0) return 0.0;
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  std::int64_t ticks = 0;
  if (__builtin_mul_overflow(pts, time_base.num, &ticks) || ticks > exact || ticks < -exact)
    return static_cast<double>(pts) * time_base.to_double();
  return static_cast<double>(ticks) / static_cast<double>(time_base.den); // One rounding.
}

/// A timestamp that is not known.
inline constexpr std::int64_t no_pts = INT64_MIN;

/// A stream as its container describes it. Not verified: the decoded stream may differ.
struct StreamInfo {
  int index = 0;
  std::string kind;                   ///< `video`, `audio`, `subtitle`, `data`, `attachment`.
  std::string codec;                  ///< FFmpeg's name: `h264`, `hevc`, `av1`.
  std::string profile;                ///< `High`, empty when unknown.
  std::int32_t width = 0, height = 0; ///< Display size after cropping, before rotation.
  PixelFormat format = PixelFormat::yuv420p;
  std::string native_format; ///< FFmpeg's name of the decoder's format, even if there is no such PixelFormat.
  int bit_depth = 8;
  bool interlaced = false; ///< According to the codec's headers.
  /// Layers of a scalable stream, 1 for others. Lanner decodes the base layer of H.264 SVC and the highest
  /// operating point of AV1.
  int layers = 1;
  Rational time_base;    ///< Seconds of one tick.
  Rational average_rate; ///< Frames per second, according to the container.
  Rational sample_aspect{1, 1};
  bool mirror = false; ///< Players mirror the picture left to right, before they rotate it.
  double rotation = 0; ///< Degrees clockwise by which players rotate the picture.
  std::int64_t start_pts = no_pts;
  std::int64_t duration = 0; ///< In ticks, 0 when unknown.
  std::int64_t frames = 0;   ///< According to the container, 0 if it does not say.
  std::int64_t bit_rate = 0;
  ColorInfo color;
  std::vector<std::byte> extradata;
  std::map<std::string, std::string> metadata;
  /// The complete description, in a form that is private to the module that made it; null if the caller
  /// filled in the fields above. Set it to null after changing a field.
  std::shared_ptr<const void> parameters;
};

/// How decoding may begin at a packet.
enum class EntryPoint : std::uint8_t {
  none,
  clean,       ///< All state is reset: IDR, a VP9 keyframe, any picture of a codec without prediction.
  broken_link, ///< BLA: like clean, but pictures shown before it that need earlier ones are not decoded.
  open,     ///< Exact from this picture on; pictures shown before it may need earlier ones (CRA, MPEG-2 I).
  recovery, ///< Like open: an H.264 or HEVC recovery point with a recovery count of 0, marked as exact.
  inexact,  ///< A keyframe or recovery point that is not marked as exact: exact decoding never begins here.
};
std::string_view to_string(EntryPoint) noexcept;

/// Picture coding type: intra (I), predicted (P), bi-predicted (B).
enum class PictureType : std::uint8_t { unknown, i, p, b };
std::string_view to_string(PictureType) noexcept; ///< `I`, `P`, `B`; empty where it is unknown.

/// A piece of a compressed stream. Copies share the bytes.
struct Packet {
  int stream = 0;
  std::int64_t pts = no_pts, dts = no_pts, duration = 0; ///< Ticks of the stream's time base.
  std::int64_t pos = -1;                                 ///< Byte position in the source, -1 when unknown.
  bool key = false;
  bool discard = false; ///< Decode, do not show (edit lists).
  bool discontinuity = false;
  bool corrupt = false;                            ///< The container knows that bytes are missing.
  bool palette = false;                            ///< Carries a palette, which applies from this picture on.
  PictureType picture_type = PictureType::unknown; ///< If the encoder reports it.
  float average_qp =
      -1; ///< Mean over the picture's blocks, in the codec's scale; -1 if the encoder does not report it.
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes`; private to the module that made it.
};

} // namespace lanner
