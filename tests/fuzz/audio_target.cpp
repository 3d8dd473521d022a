#include <lanner/audio_reader.h>

#include <lanner/source.h>

#include "fuzz/targets.h"

namespace lanner::fuzz {

/// A file with audio: reads some samples, all of them resampled and mixed, and a range behind.
void read_audio(std::span<const std::byte> input) {
  AudioReaderOptions options;
  options.demuxer.limits = small_limits();
  options.demuxer.limits.frames = 1 << 12;
  options.sample_rate = 8000;
  options.channels = 1;
  AudioReader resampled(open_bytes(input), options);
  resampled.read(0, 0.25);
  const std::int64_t size = resampled.size();
  resampled.read_samples(size / 2, size);
  options.sample_rate = options.channels = 0;
  AudioReader audio(open_bytes(input), options);
  while (audio.next()) {
  }
  audio.read_samples(audio.size() / 3, audio.size() / 2);
}

} // namespace lanner::fuzz
