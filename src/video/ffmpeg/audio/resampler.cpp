#include "video/ffmpeg/audio/resampler.h"

#include <algorithm>

#include "base/check.h"
#include "video/ffmpeg/audio/audio_layout.h"

namespace lanner::ffmpeg {

/// Of two rates: the filters of libswresample grow with it, and with them the time to make them.
constexpr int most_ratio = 256;

Resampler::Resampler(const Side& in, const Side& out)
    : rates_differ_(in.sample_rate != out.sample_rate),
      more_at_end_(64 + 32 * (out.sample_rate / std::max(1, in.sample_rate))) {
  check(out.sample_rate / most_ratio <= in.sample_rate && in.sample_rate / most_ratio <= out.sample_rate,
        ErrorCode::unsupported,
        "audio: cannot resample from {} to {} Hz, expected rates within a factor of {}", in.sample_rate,
        out.sample_rate, most_ratio);
  clear_logged_error();
  SwrContext* context = nullptr;
  // FFmpeg 5.1 takes layouts that it could change, and does not.
  int status =
      swr_alloc_set_opts2(&context, const_cast<AVChannelLayout*>(&out.layout), out.format, out.sample_rate,
                          const_cast<AVChannelLayout*>(&in.layout), in.format, in.sample_rate, 0, nullptr);
  context_.reset(context);
  if (status >= 0) status = swr_init(context_.get());
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::unsupported,
        "audio: cannot convert {} at {} Hz to {} at {} Hz: {}", layout_text(in.layout), in.sample_rate,
        layout_text(out.layout), out.sample_rate, error_text(status));
}

int Resampler::most_out(int count) const {
  if (!rates_differ_) return count;
  // At the end libswresample makes up samples for half a filter.
  return std::max(0, swr_get_out_samples(context_.get(), count)) + more_at_end_;
}

int Resampler::convert(const std::uint8_t** in, int count, std::uint8_t** out, int room) {
  if (!rates_differ_ && count == 0) return 0;
  clear_logged_error();
  const int given = swr_convert(context_.get(), out, room, in, count);
  check(given >= 0, ErrorCode::bad_data, "audio: cannot convert samples: {}", error_text(given));
  return given;
}

} // namespace lanner::ffmpeg
