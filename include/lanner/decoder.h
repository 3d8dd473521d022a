#pragma once
// Packets in, pictures out, on a CPU or a GPU.
// Objects of the video API are passive unless documented otherwise: they run on the caller's thread, own no
// threads (codecs may, see DecoderOptions::threads), are used by one thread at a time, and keep their source
// alive.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/device.h>
#include <lanner/image.h>
#include <lanner/limits.h>
#include <lanner/packet.h>
#include <lanner/tensor.h>

namespace lanner {

/// One SEI message of H.264 or HEVC, or one metadata OBU of AV1, as in the stream, without emulation
/// prevention bytes.
struct SeiMessage {
  int type = 0; ///< payloadType (H.264 Annex D, H.265 Annex D), metadata_type (AV1 6.7.1).
  std::vector<std::byte> bytes;
};

/// A decoded picture with its time. `image` shares memory with the decoder, which may still predict from it:
/// never write to it, but to a copy. It stays valid as long as it is held.
struct Frame {
  Image image;
  std::int64_t pts = no_pts;
  std::int64_t duration = 0;
  Rational time_base;
  bool mirror = false; ///< As in StreamInfo: applied before `rotation`.
  double rotation = 0;
  Rational sample_aspect{1, 1};
  bool key = false;
  bool corrupt = false; ///< The decoder concealed damage.
  bool interlaced = false;
  bool top_field_first = false; ///< For an interlaced picture: the top field is the first one in time.
  std::int64_t index = -1;      ///< Number in presentation order if a VideoReader knows it; else -1.
  /// For a picture on a GPU: the stream in whose order it is complete (DecoderOptions::stream). Null: it is
  /// complete.
  Stream stream;
  std::vector<SeiMessage> sei; ///< In stream order; only with DecoderOptions::sei.
  Tensor tensor;               ///< Result of VideoReaderOptions::preprocess, shape [1] + output_shape.

  /// 0 without a pts.
  double seconds() const noexcept { return pts == no_pts ? 0.0 : seconds_of(pts, time_base); }
};

/// Waits for all work queued on a GPU's stream: a frame with that stream is then complete for every stream
/// and thread. Does nothing on the host.
void wait_for(Device device, Stream stream);

/// When a decoded picture is returned.
enum class Latency : std::uint8_t {
  normal, ///< When its position in presentation order is certain by the stream's reordering limits.
  low,    ///< As soon as it is decoded, in streams without reordering; no decoding ahead, so a
          ///< reader accepts neither prefetch nor several decoders.
};

struct DecoderOptions {
  int threads = 0; ///< Codec threads, up to 256; 0: as many as keep the cores busy.
  /// Throw Error{bad_data} for a damaged packet, and in a VideoReader for a container that ends early. If
  /// false, damage is concealed, the frame is marked (Frame::corrupt), and unreadable data ends the stream.
  bool raise_on_error = false;
  Limits limits;
  /// Where to decode. A GPU that cannot decode the stream is Error{unsupported}. Unset means `auto`: the
  /// first GPU that can decode it, else the CPU; Decoder::reason() says why.
  std::optional<Device> device = Device{};
  /// With `auto`: the only GPU to consider, for instance the one that needs the frames. Together with
  /// `device`: Error{invalid_argument}.
  std::optional<Device> gpu;
  /// Where frames are returned; unset: where they were decoded. Frames decoded elsewhere are copied.
  std::optional<Device> output;
  /// For a GPU: the caller's CUcontext; null: the device's primary context. Error{invalid_argument} if
  /// `device` is the CPU.
  void* context = nullptr;
  /// For a GPU: frames are complete in the order of this stream, and their memory is allocated and freed on
  /// it. Null: a stream of the decoder's own, and frames are complete when returned. Error{invalid_argument}
  /// if both `device` and `output` are the CPU.
  Stream stream;
  Latency latency = Latency::normal;
  bool sei = false; ///< Fill Frame::sei.
};

/// Decodes the packets of one stream into frames in presentation order. Size and format may change within the
/// stream: each frame's image has its own. After an error decoding continues at the next keyframe.
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
  /// Switches to another stream, which may differ in everything, on the same device. What both streams can
  /// share is kept (a GPU session of the same codec, chroma format, depth, coded and display size); earlier
  /// errors have no effect. Throws as create_decoder() does; the decoder can then be reset again.
  virtual void reset(const StreamInfo& stream) = 0;
  virtual Device device() const noexcept = 0;  ///< Where it decodes.
  virtual std::string description() const = 0; ///< `ffmpeg h264, 2 threads`, `nvdec hevc on cuda:0`.
  /// Why this device was chosen: `asked for`, `auto: no GPU: ...`.
  virtual const std::string& reason() const noexcept = 0;
};
/// Throws Error{unsupported} for an unknown codec, with the names that were looked for.
std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options = {});

/// One kind of stream that a GPU may decode.
struct DecoderCapability {
  std::string codec;  ///< FFmpeg's name.
  std::string chroma; ///< `4:0:0`, `4:2:0`, `4:2:2`, `4:4:4`.
  int bit_depth = 8;
  bool supported = false;
  int engines = 0; ///< Decoding engines that support it.
  std::int32_t min_width = 0, min_height = 0, max_width = 0, max_height = 0; ///< Coded size.
  std::int64_t max_macroblocks = 0; ///< Largest width x height / 256.
};
/// The driver's answers for every codec, chroma format and depth that Lanner knows. Throws
/// Error{unsupported}, with the reason, if there is no GPU or no libnvcuvid.
std::vector<DecoderCapability> decoder_capabilities(Device device);

} // namespace lanner
