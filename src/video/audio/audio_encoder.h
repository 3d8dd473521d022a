#pragma once
// Samples in, packets of audio out. It is the FFmpeg module's.

#include <cstdint>
#include <memory>
#include <optional>

#include <lanner/packet.h>
#include <lanner/tensor.h>
#include <lanner/video_writer.h>

namespace lanner {

class AudioEncoder {
public:
  virtual ~AudioEncoder() = default;
  /// For the muxer; complete from the start. Its ticks are samples at the encoder's own rate.
  virtual const StreamInfo& stream() const noexcept = 0;
  /// Differs from AudioEncoderOptions::sample_rate for codecs that do not have it: samples are resampled.
  virtual std::int32_t sample_rate() const noexcept = 0;
  /// Takes [channels, samples] of f32, i16 or i32 in host memory, row by row; they follow those before.
  virtual void take(const Tensor& samples) = 0;
  /// No more samples come.
  virtual void finish() = 0;
  /// The next packet; nothing when more samples are needed, or at the end. The first sample is at 0; an
  /// encoder's delay is before it.
  virtual std::optional<Packet> receive() = 0;
};

/// `global_header`: as EncoderOptions::global_header. Throws Error{invalid_argument, unsupported}.
std::unique_ptr<AudioEncoder> create_audio_encoder(const AudioEncoderOptions& options, bool global_header);

} // namespace lanner
