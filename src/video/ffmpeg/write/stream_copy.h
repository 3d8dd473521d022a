#pragma once
// Streams, tags and chapters of one container in another.

#include <map>
#include <string>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// Whether the container can hold streams of this codec, as far as FFmpeg's muxer would not tell.
bool holds(const AVOutputFormat& format, const AVCodecParameters& stream);
/// Why the container cannot hold packets of the stream as they are; empty where it can.
std::string copy_refusal(const AVOutputFormat& format, const AVStream& stream);
/// Fills `to`, a new stream of a container of this format, but for its codec tag.
void describe_copy(const AVOutputFormat& format, const AVStream& from, AVStream& to);
/// Adds the chapters between two times in seconds; how many.
int copy_chapters(const AVFormatContext& from, double begin, double end, AVFormatContext& to);
/// Sets tags; an empty text removes one.
void set_entries(AVDictionary** dictionary, const std::map<std::string, std::string>& entries);

} // namespace lanner::ffmpeg
