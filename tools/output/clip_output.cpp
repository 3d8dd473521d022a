#include "output/clip_output.h"

#include <cmath>
#include <utility>

namespace lanner::tool {
namespace {

/// H.264 and H.265 encoders take halved chroma of even sizes alone: pictures of odd size keep whole chroma.
PixelFormat encodable(PixelFormat format, const std::string& codec, const StreamInfo& stream) {
  const PixelFormatInfo& facts = format_info(format);
  const bool even = stream.width % (1 << facts.chroma_x) == 0 && stream.height % (1 << facts.chroma_y) == 0;
  const bool strict = codec == "h264" || codec == "hevc" || codec == "libx264" || codec == "libx265";
  if (even || !strict || !facts.yuv) return format;
  return facts.bits > 8 ? PixelFormat::yuv444p10 : PixelFormat::yuv444p;
}

int quarter_turns(double rotation) {
  return static_cast<int>(std::lround(rotation / 90)) % 4;
}

} // namespace

double expected_frames(const VideoReader& reader) {
  const StreamInfo& stream = reader.stream();
  if (stream.frames > 0) return static_cast<double>(stream.frames);
  return std::round(reader.demuxer().duration() * stream.average_rate.to_double());
}

ClipOutput::ClipOutput(const std::string& path, const StreamInfo& stream, PixelChoice pixels,
                       EncoderOptions options)
    : writer_(path, completed(std::move(options), stream, pixels)) {}

ClipOutput::ClipOutput(std::unique_ptr<Muxer> muxer, const StreamInfo& stream, PixelChoice pixels,
                       EncoderOptions options)
    : writer_(std::move(muxer), completed(std::move(options), stream, pixels)) {}

EncoderOptions ClipOutput::completed(EncoderOptions options, const StreamInfo& stream, PixelChoice pixels) {
  if (stream.average_rate.den > 0 && stream.average_rate.num > 0) options.rate = stream.average_rate;
  if (stream.time_base.den > 0) options.time_base = stream.time_base;
  if (stream.sample_aspect.den > 0 && stream.sample_aspect.num > 0)
    options.sample_aspect = stream.sample_aspect;
  const bool turned = stream.mirror || quarter_turns(stream.rotation) != 0;
  if (quarter_turns(stream.rotation) % 2 != 0)
    std::swap(options.sample_aspect.num, options.sample_aspect.den);
  // Turned pictures are RGB by then: the file keeps what the stream was.
  if (pixels == PixelChoice::source && format_info(stream.format).yuv) options.format = stream.format;
  options.format = encodable(options.format, options.codec, stream);
  if (turned) options.color = stream.color;
  // Animations end in a long picture as a rule, and MP4 has the length of the one that is decoded last.
  if (stream.codec == "gif" || stream.codec == "apng") options.b_frames = 0;
  return options;
}

void ClipOutput::write(const Image& image, std::int64_t pts, std::int64_t duration) {
  if (pts != no_pts && last_pts_ != no_pts && pts <= last_pts_) pts = last_pts_ + 1;
  writer_.write(image, pts, duration);
  if (pts != no_pts)
    last_pts_ = pts;
  else if (last_pts_ != no_pts)
    last_pts_ = no_pts;
}

} // namespace lanner::tool
