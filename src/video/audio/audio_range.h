#pragma once
// A range of samples as one tensor: converted, resampled, cut.

#include <cstdint>

#include <lanner/limits.h>
#include <lanner/tensor.h>

#include "video/audio/audio_decoder.h"
#include "video/audio/audio_track.h"

namespace lanner {

// Note [Ranges of resampled audio]
// A resampler's sample n lies at n * in / out of the stream's. It is a weighted sum of the samples around
// there, with weights that repeat after `period` samples: out, divided by what both rates have in common. So
// a resampler that begins at a multiple of the period, some filter lengths ahead of a range, gives the same
// samples in it as one that begins at the beginning of the stream.

/// How samples of one rate follow from those of another.
class RateChange {
public:
  RateChange(std::int32_t from, std::int32_t to);
  bool none() const noexcept { return in_ == out_; }
  /// Where a resampler begins that is to give sample `first`: its first sample at the new rate.
  std::int64_t begin_for(std::int64_t first) const;
  /// The sample of the stream at such a place.
  std::int64_t source_of(std::int64_t begin) const;
  /// Samples of the stream that are enough to give all up to `end`.
  std::int64_t source_end(std::int64_t end) const;
  /// Those that ranges ask for ahead of their first one, at most.
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
