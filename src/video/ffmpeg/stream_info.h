#pragma once
// StreamInfo in FFmpeg's terms.

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include <lanner/packet.h>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// Describes a demuxed stream.
StreamInfo describe(AVFormatContext* context, const AVStream& stream);
/// Fills codec, sizes, format, colour, extradata and `parameters` of `info`.
void describe_codec(const AVCodecParameters& parameters, StreamInfo& info);
/// The decoder of VP8 and VP9 that gives the alpha which WebM keeps beside their packets: libvpx's, as
/// FFmpeg's own leave it out. Null for streams without, and where this FFmpeg lacks it.
const AVCodec* alpha_decoder(const StreamInfo& stream);
/// The parameters that `info` stands for: its own, when this module made it, else built from the fields.
ParametersPtr to_parameters(const StreamInfo& info);
/// In place of what is there.
void set_extradata(AVCodecParameters& parameters, std::span<const std::byte> bytes);
/// A decoder of the stream, not opened yet. Throws Error{bad_data} for parameters that FFmpeg refuses.
CodecContextPtr make_codec_context(const AVCodec& codec, const AVCodecParameters& parameters,
                                   const StreamInfo& stream);
/// Keys and values of a dictionary, each one line.
std::map<std::string, std::string> entries_of(const AVDictionary* dictionary);
/// What a player does to the stored picture: mirrors it left to right, then turns it clockwise.
struct Display {
  bool mirror = false;
  double rotation = 0; ///< Degrees, 0 to 360.
};
/// By a display matrix of 36 bytes.
Display display_of(const std::int32_t* matrix);
/// The codec of FFmpeg's name. Throws Error{unsupported}.
AVCodecID codec_id(const std::string& name);

} // namespace lanner::ffmpeg
