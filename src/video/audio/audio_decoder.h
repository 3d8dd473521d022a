#pragma once
// Packets of audio in, blocks of samples out, and their conversion to tensors. Both are the FFmpeg module's.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <lanner/audio_reader.h>
#include <lanner/limits.h>
#include <lanner/packet.h>
#include <lanner/tensor.h>

namespace lanner {

/// Samples that a decoder gave at once, in its own format.
struct AudioBlock {
  std::int64_t packet = 0; ///< Number of the packet that it began in, 0 where that is not known.
  std::int64_t pts = no_pts;
  std::int64_t samples = 0; ///< Of each channel.
  AudioFormat format;
  std::uint64_t digest = 0;          ///< Of all samples.
  std::shared_ptr<const void> owner; ///< The samples, private to the module.
};

class AudioDecoder {
public:
  virtual ~AudioDecoder() = default;
  /// Takes a packet, whose `number` grows from 1 on, or the end (nullptr). False: receive() comes first.
  /// `keep_start`: without it the packet's request to leave out samples at its beginning does not apply, as
  /// containers make it up after a seek.
  virtual bool send(const Packet* packet, std::int64_t number, bool keep_start) = 0;
  /// Nothing when more input is needed, or at the end.
  virtual std::optional<AudioBlock> receive() = 0;
  virtual bool finished() const noexcept = 0;
  /// What could not be decoded since the last call; empty for nothing.
  virtual std::string take_damage() = 0;
};
/// Throws Error{unsupported} for a codec without a decoder.
std::unique_ptr<AudioDecoder> create_audio_decoder(const StreamInfo& stream, const Limits& limits);

/// What samples are converted to. 0 keeps what the blocks have.
struct AudioTarget {
  std::int32_t sample_rate = 0, channels = 0;
  DType dtype = DType::f32;
};

/// Converts consecutive samples. Blocks of another format than the first are brought to that one; their rate
/// must be the same.
class AudioConverter {
public:
  virtual ~AudioConverter() = default;
  /// `count` samples from `first` on, as [channels, any number of samples]: resampling holds some back.
  virtual Tensor convert(const AudioBlock& block, std::int64_t first, std::int64_t count) = 0;
  /// Those that are held back, at the end of the stream.
  virtual Tensor finish() = 0;
};
std::unique_ptr<AudioConverter> create_audio_converter(const AudioBlock& like, const AudioTarget& target);

} // namespace lanner
