#pragma once
// libswresample: sample formats, channels and rates converted.

#include <cstdint>
#include <memory>

#include "video/ffmpeg/av.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/samplefmt.h>
#include <libswresample/swresample.h>
}

namespace lanner::ffmpeg {

class Resampler {
public:
  struct Side {
    const AVChannelLayout& layout;
    AVSampleFormat format;
    int sample_rate;
  };
  /// With FFmpeg's default settings. Throws Error{unsupported}.
  Resampler(const Side& in, const Side& out);

  /// Samples that convert() gives at most for `count` more.
  int most_out(int count) const;
  /// Takes `count` samples, a null pointer and 0 at the end; how many were written to `out`.
  int convert(const std::uint8_t** in, int count, std::uint8_t** out, int room);

private:
  struct Free {
    void operator()(SwrContext* context) const { swr_free(&context); }
  };
  std::unique_ptr<SwrContext, Free> context_;
  bool rates_differ_;
  int more_at_end_;
};

} // namespace lanner::ffmpeg
