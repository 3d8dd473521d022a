#pragma once
// Pictures in, packets out.
// Every noun of video is passive unless it says otherwise: it runs on the caller's thread, holds no thread of
// its own (codecs may, see DecoderOptions::threads) and is used by one thread at a time. Objects keep their
// source alive.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/decoder.h>
#include <lanner/hdr.h>
#include <lanner/image.h>
#include <lanner/packet.h>

namespace lanner {

/// What the encoding is for (NVENC's tunings); what each makes of an encoder: docs/encoder-presets.md.
enum class Tuning : std::uint8_t {
  unspecified,
  high_quality,
  low_latency,       ///< No reordering and no lookahead.
  ultra_low_latency, ///< Each packet comes before the next picture is taken.
  lossless,          ///< Decoding gives the samples of `format` back, bit for bit.
  ultra_high_quality ///< Of NVENC alone.
};
/// unspecified: constqp where `const_qp` is given, vbr where `bit_rate` is, else constant quality.
enum class RateControl : std::uint8_t { unspecified, constqp, vbr, cbr };
/// Passes over each picture before it is written, of NVENC alone; the first at a quarter of the size or at
/// all of it.
enum class Multipass : std::uint8_t { unspecified, disabled, quarter_resolution, full_resolution };
/// What EncoderOptions::slice_data counts: macroblocks of a slice, its bytes, its rows of macroblocks, or
/// slices of a picture.
enum class SliceMode : std::uint8_t { unspecified, macroblocks, bytes, rows, count };

std::string_view to_string(Tuning) noexcept;
std::string_view to_string(RateControl) noexcept;
std::string_view to_string(Multipass) noexcept;
std::string_view to_string(SliceMode) noexcept;

/// Quantisation parameters of I, P and B pictures.
using QpByType = std::array<std::int32_t, 3>;

/// Members that are unset, `unspecified`, empty, 0 or -1 leave the choice to the encoder. What an encoder
/// cannot do is refused by create_encoder(), with the reason.
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
  std::string preset; ///< `P1` (fastest) to `P7`, `ultrafast` ... `placebo`, or the codec's own.
  int threads = 0;    ///< 0 chooses.
  /// Codec headers lie in StreamInfo::extradata alone, as containers with Muxer::wants_global_header() need
  /// them; else each keyframe has them in front, as bare streams need them. VideoWriter asks its muxer.
  bool global_header = false;
  ColorInfo color; ///< VideoWriter takes the first picture's where the matrix is unspecified.
  Rational sample_aspect{1, 1};
  /// Passed to the FFmpeg encoder; unknown ones are an error, and those that say what a member above says
  /// too.
  std::map<std::string, std::string> codec_options;

  Tuning tuning = Tuning::unspecified;
  std::string profile; ///< Most that a decoder must know: `main`, `high`, `main10`. The stream may need less.
  std::string level;   ///< `4.1`; pictures and rates beyond it are refused.
  std::string tier;    ///< `main` or `high`, of HEVC and AV1, beside a level.
  RateControl rate_control = RateControl::unspecified;
  std::int64_t max_bit_rate = 0;    ///< Bits a second, of vbr or above constant quality.
  std::int64_t vbv_buffer_size = 0; ///< Bits; 0 beside a bound of the rate is what one second of it takes.
  std::int64_t vbv_initial = 0;     ///< Bits in that buffer when decoding begins.
  std::optional<QpByType> const_qp; ///< In the codec's own scale, as those that follow.
  std::optional<QpByType> qp_min, qp_max;
  std::optional<QpByType> initial_qp; ///< QP of the first pictures.
  Multipass multipass = Multipass::unspecified;
  std::optional<int> lookahead; ///< Pictures that rate control looks ahead.
  std::optional<int> low_delay_keyframe_scale;
  std::optional<bool> spatial_aq;            ///< QP by the detail of each block.
  std::optional<bool> temporal_aq;           ///< QP by how much later pictures take from each block.
  int idr_period = 0;                        ///< Frames from an IDR to the next.
  std::optional<int> num_ref_l0, num_ref_l1; ///< Most reference pictures in lists 0 and 1.
  SliceMode slice_mode = SliceMode::unspecified;
  int slice_data = 0;
  /// VUI timing (H.264 and H.265 Annex E), written in lowest terms; without them by `rate`.
  std::int32_t num_units_in_tick = 0, time_scale = 0;
  /// Parameter sets in front of each IDR, or of the first alone; unset: by `global_header`.
  std::optional<bool> repeat_headers;
  bool hrd = false; ///< Write the parameters of the hypothetical reference decoder, where there is a VBV.
  std::optional<MasteringDisplay> mastering_display;
  std::optional<ContentLight> content_light;
  std::int32_t max_width = 0, max_height = 0; ///< Most that reconfigure() may ask for; 0: no other size.
};

/// What is asked for one picture.
struct PictureRequest {
  bool force_idr = false;    ///< Decoding may begin here.
  bool emit_headers = false; ///< Parameter sets (AV1: the sequence header) stand in front of it.
  /// H.264, HEVC: prefix SEI; AV1: metadata OBUs. Any type, the payload as Annex D has it.
  std::vector<SeiMessage> sei;
};

/// What may change while encoding. Those of 0, unset and `unspecified` stay as they are.
struct EncoderReconfigure {
  RateControl rate_control = RateControl::unspecified;
  Multipass multipass = Multipass::unspecified;
  std::int64_t bit_rate = 0, max_bit_rate = 0;
  std::int64_t vbv_buffer_size = 0, vbv_initial = 0;
  Rational rate{0, 0};
  std::int32_t width = 0, height = 0; ///< Within EncoderOptions::max_width and max_height.
  bool force_idr = false;             ///< The next picture is an IDR.
};

/// A new start of the encoder inside the stream, at an IDR with its headers.
struct EncoderRestart {
  std::int64_t pts = no_pts; ///< Of the first picture behind it.
  std::string reason;        ///< `bit rate`, `force_idr`.
};

/// Turns images into packets.
class Encoder {
public:
  virtual ~Encoder() = default;
  virtual const StreamInfo& stream() const noexcept = 0; ///< For the muxer; complete from the start.
  /// Takes a picture (any format of the encoder's size) and its pts in `time_base` ticks, or the end
  /// (nullptr). False: receive() first, then give it again. Times have to grow; no_pts follows the picture
  /// before by one frame.
  virtual bool send(const Image* image, std::int64_t pts = no_pts, const PictureRequest& request = {}) = 0;
  virtual std::optional<Packet> receive() = 0;
  virtual bool finished() const noexcept = 0;
  /// What the members of EncoderReconfigure stand at.
  virtual EncoderReconfigure reconfigurable() const = 0;
  /// Counts from the next picture on. libx264 changes bit rate and VBV as it runs; for other changes, and
  /// other encoders, the encoder starts anew at an IDR, which restarts() tells. Throws
  /// Error{invalid_argument, unsupported} and changes nothing where the change cannot be.
  virtual void reconfigure(const EncoderReconfigure& change) = 0;
  virtual const std::vector<EncoderRestart>& restarts() const noexcept = 0;
};
/// Throws Error{invalid_argument} for options that exclude one another or that the encoder refuses, and
/// Error{unsupported} where there is no such encoder.
std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options);

} // namespace lanner
