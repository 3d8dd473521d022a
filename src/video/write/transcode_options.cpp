#include "video/write/transcode_options.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <lanner/video_support.h>

namespace lanner {

namespace {

/// The encoder that a codec's name stands for, as far as it matters here.
std::string encoder_name(const std::string& codec) {
  static const VideoSupport support = video_support();
  const auto has = [&](const char* name) {
    return std::ranges::find(support.encoders, name) != support.encoders.end();
  };
  if (codec == "h264") return has("libx264") ? "libx264" : "libopenh264";
  if (codec == "hevc" || codec == "h265") return "libx265";
  if (codec == "av1") return has("libsvtav1") ? "libsvtav1" : "libaom-av1";
  return codec;
}

/// H.264 and H.265 encoders take halved chroma of even sizes alone: pictures of odd size keep whole chroma.
PixelFormat encodable(PixelFormat format, const std::string& codec, const StreamInfo& stream) {
  const PixelFormatInfo& facts = format_info(format);
  const bool even = stream.width % (1 << facts.chroma_x) == 0 && stream.height % (1 << facts.chroma_y) == 0;
  const std::string name = encoder_name(codec);
  const bool strict = name == "libx264" || name == "libx265" || name == "libopenh264";
  if (even || !strict || !facts.yuv) return format;
  return facts.bits > 8 ? PixelFormat::yuv444p10 : PixelFormat::yuv444p;
}

/// Adds `key=value` pairs, between colons, to what is given already.
void add_params(EncoderOptions& encoder, const std::string& option, const std::string& params) {
  if (params.empty()) return;
  std::string& all = encoder.codec_options[option];
  all += all.empty() ? params : ":" + params;
}

/// Into the stream, of encoders that take it; what the caller gave wins.
void add_hdr(EncoderOptions& encoder, const HdrMetadata& hdr) {
  constexpr std::string_view takers[] = {"libx264", "libx265", "libsvtav1", "libaom-av1"};
  const bool takes = std::ranges::find(takers, encoder_name(encoder.codec)) != std::end(takers);
  if (!takes && encoder.device.is_host()) return;
  if (!encoder.mastering_display) encoder.mastering_display = hdr.mastering;
  if (!encoder.content_light) encoder.content_light = hdr.light;
}

} // namespace

bool marks_fields(const EncoderOptions& encoder, VideoFields fields) {
  const bool x264 = encoder.device.is_host() && encoder_name(encoder.codec) == "libx264";
  return fields == VideoFields::progressive || x264;
}

EncoderOptions encoder_for_clip(const TranscodeOptions& options, std::string_view format,
                                const ClipFacts& clip) {
  EncoderOptions encoder = encoder_for_format(format, options.encoder);
  const StreamInfo& stream = clip.stream;
  if (stream.average_rate.den > 0 && stream.average_rate.num > 0) encoder.rate = stream.average_rate;
  if (stream.sample_aspect.den > 0 && stream.sample_aspect.num > 0)
    encoder.sample_aspect = stream.sample_aspect;
  if (options.format)
    encoder.format = *options.format;
  else if (clip.yuv)
    encoder.format = encodable(stream.format, encoder.codec, stream);
  else
    encoder.format = is_lossless(encoder) ? stream.format : encodable(encoder.format, encoder.codec, stream);
  // Animations end in a long picture as a rule, and MP4 has the length of the one that is decoded last.
  if (is_animation(stream.codec) && encoder.b_frames < 0) encoder.b_frames = 0;
  if (!clip.hdr.empty()) add_hdr(encoder, clip.hdr);
  if (clip.fields != VideoFields::progressive && marks_fields(encoder, clip.fields))
    add_params(encoder, "x264-params", clip.fields == VideoFields::top_first ? "tff=1" : "bff=1");
  return encoder;
}

} // namespace lanner
