#pragma once
// Pictures in, packets out.
// Objects of the video API are passive unless documented otherwise: they run on the caller's thread, own no
// threads (codecs may, see DecoderOptions::threads), are used by one thread at a time, and keep their source
// alive.

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
#include <lanner/device.h>
#include <lanner/hdr.h>
#include <lanner/image.h>
#include <lanner/packet.h>

namespace lanner {

/// What the encoding is for, as in NVENC's tunings; docs/encoder-presets.md lists the settings of each
/// encoder.
enum class Tuning : std::uint8_t {
  unspecified,
  high_quality,
  low_latency,       ///< No reordering and no lookahead.
  ultra_low_latency, ///< A picture's packet is ready before the next picture is sent.
  lossless,          ///< Decoding gives the samples of `format` back, bit for bit.
  ultra_high_quality ///< NVENC only.
};
/// `unspecified` means constqp if `const_qp` is set, vbr if `bit_rate` is set, else constant quality.
enum class RateControl : std::uint8_t { unspecified, constqp, vbr, cbr };
/// Encoding passes for each picture (NVENC only). `quarter_resolution` and `full_resolution`: two passes, the
/// first of them at this size.
enum class Multipass : std::uint8_t { unspecified, disabled, quarter_resolution, full_resolution };
/// Unit of EncoderOptions::slice_data: macroblocks, bytes or rows of macroblocks in each slice, or the number
/// of slices in a picture.
enum class SliceMode : std::uint8_t { unspecified, macroblocks, bytes, rows, count };

std::string_view to_string(Tuning) noexcept;
std::string_view to_string(RateControl) noexcept;
std::string_view to_string(Multipass) noexcept;
std::string_view to_string(SliceMode) noexcept;

/// Quantisation parameters of I, P and B pictures.
using QpByType = std::array<std::int32_t, 3>;

/// Members that are unset, `unspecified`, empty, or at a default of 0 or -1 leave the choice to the encoder.
/// create_encoder() throws, with the reason, if the encoder does not support a setting.
struct EncoderOptions {
  std::string codec = "h264"; ///< h264, hevc, av1, vp9, mpeg4, mjpeg, ffv1 ..., or an FFmpeg encoder's name.
  std::int32_t width = 0, height = 0;        ///< 0: the size of the first picture, for VideoWriter only.
  PixelFormat format = PixelFormat::yuv420p; ///< Format to encode in; other inputs are converted.
  Rational rate{30, 1};                      ///< Nominal frames a second.
  Rational time_base;                        ///< Seconds of one tick of pts; {0,0}: 1/rate.
  /// Bits per second; 0: `crf` decides. At most one of the two, and neither for lossless encoding.
  std::int64_t bit_rate = 0;
  double crf = -1;    ///< Constant quality, in the codec's scale; -1: the codec's default.
  int gop = 0;        ///< Most frames from one keyframe to the next; 0: the codec's default.
  int b_frames = -1;  ///< Most B-frames in a row; -1: the codec's default.
  std::string preset; ///< `P1` (fastest) to `P7`, `ultrafast` ... `placebo`, or the codec's own.
  int threads = 0;    ///< 0 chooses.
  /// True: codec headers are only in StreamInfo::extradata, as containers with Muxer::wants_global_header()
  /// need. False: they are before each keyframe, as elementary streams need. VideoWriter sets it as its muxer
  /// needs.
  bool global_header = false;
  ColorInfo color; ///< VideoWriter: if the matrix is unspecified, what is unspecified is the first picture's.
  Rational sample_aspect{1, 1};
  /// Options passed to the FFmpeg encoder. Unknown options are an error, and so are options that duplicate a
  /// member of this struct.
  std::map<std::string, std::string> codec_options;

  Tuning tuning = Tuning::unspecified;
  std::string profile; ///< Features that decoders must support: `main`, `high`, `main10`.
  std::string level;   ///< `4.1`; sizes and rates beyond it are an error.
  std::string tier;    ///< `main` or `high`, of HEVC and AV1; needs `level`.
  RateControl rate_control = RateControl::unspecified;
  std::int64_t max_bit_rate = 0;    ///< Bits per second, for vbr, or as a cap on constant quality.
  std::int64_t vbv_buffer_size = 0; ///< Bits; 0: one second at the maximum rate, if there is one.
  std::int64_t vbv_initial = 0;     ///< Bits in that buffer when decoding begins.
  std::optional<QpByType> const_qp; ///< In the codec's own scale, like the QPs below.
  std::optional<QpByType> qp_min, qp_max;
  std::optional<QpByType> initial_qp; ///< QP of the first pictures.
  Multipass multipass = Multipass::unspecified;
  std::optional<int> lookahead; ///< Number of pictures that rate control looks ahead.
  /// Size of I pictures relative to P pictures in low-delay encoding (NVENC's lowDelayKeyFrameScale).
  std::optional<int> low_delay_keyframe_scale;
  std::optional<bool> spatial_aq;            ///< Adapts QP to the detail of each block.
  std::optional<bool> temporal_aq;           ///< Adapts QP to how much later pictures refer to each block.
  int idr_period = 0;                        ///< Frames from one IDR to the next.
  std::optional<int> num_ref_l0, num_ref_l1; ///< Most reference pictures in lists 0 and 1.
  SliceMode slice_mode = SliceMode::unspecified;
  int slice_data = 0;
  /// VUI timing (H.264 and H.265 Annex E), written in lowest terms; 0: from `rate`.
  std::int32_t num_units_in_tick = 0, time_scale = 0;
  /// True: parameter sets before each IDR; false: before the first one only; unset: `global_header` decides.
  std::optional<bool> repeat_headers;
  bool hrd = false; ///< Write HRD parameters (Annex E); needs `max_bit_rate` or cbr, else an error.
  std::optional<MasteringDisplay> mastering_display;
  std::optional<ContentLight> content_light;
  std::int32_t max_width = 0, max_height = 0; ///< Largest size for reconfigure(); 0: the size is fixed.

  /// Where to encode: on the host by FFmpeg's software encoders, on a GPU by NVENC. Of NVENC `codec` is h264,
  /// hevc or av1, `crf` its target quality (23, 28 and 35 by default), and `preset` P1 to P7 (default P4).
  Device device;
  /// For a GPU: the caller's CUcontext; null: the device's primary context.
  void* context = nullptr;
  /// For a GPU: pictures are complete, and their memory is read, in the order of this stream. Null: they are
  /// complete when they are sent, and read when send() returns.
  Stream stream;
};

/// Requests for one picture.
struct PictureRequest {
  bool force_idr = false;    ///< Make it an IDR, at which decoding can begin.
  bool emit_headers = false; ///< Write parameter sets (AV1: the sequence header) before it.
  /// H.264, HEVC: prefix SEI of any type but 132, payloads as in Annex D; AV1: metadata OBUs.
  std::vector<SeiMessage> sei;
};

/// Settings that can be changed while encoding. A member that is 0 or `unspecified` leaves its setting
/// unchanged.
struct EncoderReconfigure {
  RateControl rate_control = RateControl::unspecified;
  Multipass multipass = Multipass::unspecified;
  std::int64_t bit_rate = 0, max_bit_rate = 0;
  std::int64_t vbv_buffer_size = 0, vbv_initial = 0;
  Rational rate{0, 0};
  std::int32_t width = 0, height = 0; ///< Within EncoderOptions::max_width and max_height.
  bool force_idr = false;             ///< The next picture is an IDR.
};

/// A restart of the encoder within the stream, which begins with an IDR and codec headers.
struct EncoderRestart {
  std::int64_t pts = no_pts; ///< Of the first picture after it.
  std::string reason;        ///< `bit rate`, `force_idr`.
};

/// Encodes images into packets.
class Encoder {
public:
  virtual ~Encoder() = default;
  virtual const StreamInfo& stream() const noexcept = 0; ///< For the muxer; complete from the start.
  /// Takes a picture on the host or, for NVENC, on its GPU, of the encoder's size and any format, with its
  /// pts in `time_base` ticks; nullptr ends the stream. Returns false if the picture was not taken: call
  /// receive(), then send it again. Each pts must be greater than the previous one; no_pts: one frame after
  /// it at the rate of now, Error{invalid_argument} where that is less than a tick.
  virtual bool send(const Image* image, std::int64_t pts = no_pts, const PictureRequest& request = {}) = 0;
  virtual std::optional<Packet> receive() = 0;
  virtual bool finished() const noexcept = 0;
  /// The current values of the settings that reconfigure() can change.
  virtual EncoderReconfigure reconfigurable() const = 0;
  /// Takes effect with the next picture. NVENC changes all of it without a restart where its GPU can, libx264
  /// bit rate and VBV if its rate is bounded and `hrd` is off; other new settings restart the encoder at an
  /// IDR, see restarts(), and so does a new size. Throws
  /// Error{invalid_argument, unsupported}, and changes nothing, if the change is not possible.
  virtual void reconfigure(const EncoderReconfigure& change) = 0;
  virtual const std::vector<EncoderRestart>& restarts() const noexcept = 0;
};
/// Throws Error{invalid_argument} for invalid values and options that exclude each other, Error{unsupported}
/// if there is no such encoder or it lacks an option.
std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options);

/// What the NVENC of a GPU can do with one codec.
struct EncoderCapability {
  std::string codec; ///< `h264`, `hevc`, `av1`.
  bool supported = false;
  /// By the names of NV_ENC_CAPS without their prefix, in small letters: `width_max`, `num_max_bframes`,
  /// `support_10bit_encode`. Empty if it is not supported.
  std::map<std::string, int> values;
};
/// What the GPU's driver answers for every codec that Lanner knows of. Throws Error{unsupported} with the
/// reason where there is no GPU, no libnvidia-encode or no NVENC.
std::vector<EncoderCapability> encoder_capabilities(Device device);

} // namespace lanner
