#pragma once
// WAV files.

#include <cstdint>
#include <string>

#include <lanner/tensor.h>

#include "output/byte_output.h"

namespace lanner::tool {

/// What a WAV file says of its samples.
struct WavFormat {
  std::int32_t sample_rate = 0, channels = 0;
  std::string channel_layout; ///< FFmpeg's name; of unknown ones the places of channels are left open.
  DType dtype = DType::f32;   ///< f32, i16 or i32.
};

class WavWriter {
public:
  /// `samples`: how many come of each channel. Throws Error{invalid_argument} for more than a WAV file holds.
  WavWriter(const std::string& path, const WavFormat& format, std::int64_t samples);
  /// [channels, samples] of the format's type.
  void write(const Tensor& samples);
  void finish() { output_.commit(); }

private:
  ByteOutput output_;
  WavFormat format_;
};

} // namespace lanner::tool
