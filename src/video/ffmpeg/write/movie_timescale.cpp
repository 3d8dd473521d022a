#include "video/ffmpeg/write/movie_timescale.h"

#include <cstdint>
#include <string>

extern "C" {
#include <libavutil/opt.h>
}

namespace lanner::ffmpeg {

void add_movie_timescale(const AVFormatContext& context, std::span<const AVRational> time_bases,
                         Dictionary& settings) {
  const AVClass* type = context.oformat->priv_class;
  if (!type || !av_opt_find(&type, "movie_timescale", nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ)) return;
  constexpr int least = 10'000; // FFmpeg doubles a track's ticks up to here.
  for (std::size_t i = 0; i < time_bases.size(); ++i) {
    if (context.streams[i]->codecpar->codec_type != AVMEDIA_TYPE_VIDEO) continue;
    std::int64_t scale = time_bases[i].den;
    while (scale > 0 && scale < least) scale *= 2;
    if (scale > 0 && scale <= INT32_MAX) settings.set("movie_timescale", std::to_string(scale));
    return;
  }
}

} // namespace lanner::ffmpeg
