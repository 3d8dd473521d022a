#pragma once
// Reads a range of samples into one tensor: converted, resampled, cut.

#include <cstdint>

#include <lanner/limits.h>
#include <lanner/tensor.h>

#include "video/audio/audio_decoder.h"
#include "video/audio/audio_track.h"

namespace lanner {

// Note [Ranges of resampled audio]
// A resampler's sample n is at position n * in / out of the stream. It is a weighted sum of the stream's
// samples around this position, and the weights repeat every `period` samples: out / gcd(in, out). So a
// resampler that begins at a multiple of the period, some filter lengths before a range, gives the same
// samples in the range as one that begins at the start of the stream.

/// Which samples of one rate depend on which of another.
class RateChange {
public:
  RateChange(std::int32_t from, std::int32_t to);
  bool none() const noexcept { return in_ == out_; }
  /// The sample, at the new rate, at which a resampler has to begin for sample `first` to be right.
  std::int64_t begin_for(std::int64_t first) const;
  /// The stream's sample at this beginning.
  std::int64_t source_of(std::int64_t begin) const;
  /// End of the stream's samples that are needed for all samples before `end`.
  std::int64_t source_end(std::int64_t end) const;
  /// The most samples of the stream that a range needs before its first one.
  std::int64_t most_ahead() const { return margin_ + in_period_; }
  double to_new(double sample) const;
  double to_old(double sample) const;

private:
  std::int64_t in_, out_, in_period_, out_period_;
  std::int64_t margin_; ///< Samples of the stream on each side that a new one depends on.
};

/// Samples [begin, end) of the track, counted at the target's rate; fewer where the track ends before.
Tensor read_range(AudioTrack& track, const AudioTarget& target, std::int64_t begin, std::int64_t end,
                  const Limits& limits);

} // namespace lanner
