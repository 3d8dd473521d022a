#include "video/ffmpeg/stream_end.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <lanner/packet.h>

extern "C" {
#include <libavutil/parseutils.h>
}

namespace lanner::ffmpeg {

namespace {

constexpr AVRational microseconds{1, AV_TIME_BASE}, milliseconds{1, 1000};
constexpr std::int64_t most_ticks = std::int64_t{1} << 60;

std::int64_t behind(std::int64_t start, std::int64_t duration) {
  const bool fits = start > -most_ticks && start < most_ticks && duration > 0 && duration < most_ticks;
  return fits ? start + duration : no_pts;
}

/// Of the longest track, from 0 on.
std::int64_t file_end(const AVFormatContext& context, const AVStream& stream) {
  if (context.duration == AV_NOPTS_VALUE || context.duration <= 0) return no_pts;
  return behind(0, av_rescale_q(context.duration, microseconds, stream.time_base));
}

/// A file that other programs than ours wrote with reordered pictures counts the distances of decoding in the
/// track's duration, and has its own end alone in that of the file.
std::int64_t end_in_mp4(const AVFormatContext& context, const AVStream& stream) {
  const std::int64_t own =
      stream.duration == AV_NOPTS_VALUE ? no_pts : behind(stream.start_time, stream.duration);
  const std::int64_t file = file_end(context, stream);
  if (own == no_pts || file == no_pts) return own;
  const std::int64_t rounding = av_rescale_q_rnd(2, milliseconds, stream.time_base, AV_ROUND_UP);
  if (context.nb_streams == 1) return std::abs(own - file) <= rounding ? own : file;
  return own > file + rounding ? file : own;
}

/// FFmpeg writes a tag with the end of each track, mkvmerge one with its length.
std::int64_t end_in_matroska(const AVFormatContext& context, const AVStream& stream) {
  const AVDictionaryEntry* tag = av_dict_get(stream.metadata, "DURATION", nullptr, 0);
  std::int64_t told = 0;
  if (!tag || av_parse_time(&told, tag->value, 1) < 0 || told <= 0)
    return context.nb_streams == 1 ? file_end(context, stream) : no_pts;
  const bool length =
      av_dict_get(stream.metadata, "_STATISTICS_WRITING_APP", nullptr, AV_DICT_IGNORE_SUFFIX) != nullptr;
  return behind(length ? stream.start_time : 0, av_rescale_q(told, microseconds, stream.time_base));
}

} // namespace

std::int64_t stream_end(const AVFormatContext& context, const AVStream& stream) {
  const std::string_view format = context.iformat->name;
  if (stream.start_time == AV_NOPTS_VALUE || stream.time_base.num <= 0) return no_pts;
  if (format.starts_with("mov,")) return end_in_mp4(context, stream);
  return format.starts_with("matroska") ? end_in_matroska(context, stream) : no_pts;
}

} // namespace lanner::ffmpeg
