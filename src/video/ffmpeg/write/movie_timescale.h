#pragma once
// Ticks of MP4's edit lists.

#include <span>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// Edit lists count in the movie's ticks, 1/1000 s by default: a video that begins later than 0 would be
/// shown up to half of that off. Its own ticks are exact. `time_bases`: of the streams' packets. Nothing for
/// containers without such ticks.
void add_movie_timescale(const AVFormatContext& context, std::span<const AVRational> time_bases,
                         Dictionary& settings);

} // namespace lanner::ffmpeg
