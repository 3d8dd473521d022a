#include "video/ffmpeg/stream_info.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {

namespace {

void describe_video(const AVCodecParameters& parameters, StreamInfo& info) {
  const auto format = static_cast<AVPixelFormat>(parameters.format);
  info.width = parameters.width;
  info.height = parameters.height;
  info.interlaced = code_of(parameters.field_order) > AV_FIELD_PROGRESSIVE;
  if (parameters.sample_aspect_ratio.num > 0)
    info.sample_aspect = to_rational(parameters.sample_aspect_ratio);
  info.color = color_of(parameters);
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if (!descriptor) return;
  info.format = nearest_format(format);
  info.native_format = descriptor->name;
  info.bit_depth = descriptor->comp[0].depth;
}

Rational frame_rate(AVFormatContext* context, AVStream* stream) {
  if (stream->avg_frame_rate.num > 0 && stream->avg_frame_rate.den > 0)
    return to_rational(stream->avg_frame_rate);
  const AVRational guess = av_guess_frame_rate(context, stream, nullptr);
  return guess.num > 0 && guess.den > 0 ? to_rational(guess) : Rational{};
}

} // namespace

// Rows of the matrix say where the picture's axes go: a mirrored one's x axis is turned round first.
Display display_of(const std::int32_t* matrix) {
  std::int32_t turned[9];
  std::memcpy(turned, matrix, sizeof turned);
  const auto product = [&](int a, int b) {
    return static_cast<double>(turned[a]) * static_cast<double>(turned[b]);
  };
  Display display;
  display.mirror = product(0, 4) < product(1, 3);
  if (display.mirror)
    for (const int i : {0, 1}) turned[i] = turned[i] == INT32_MIN ? INT32_MAX : -turned[i];
  const double counter_clockwise = av_display_rotation_get(turned);
  if (std::isnan(counter_clockwise)) return {};
  const double clockwise = std::fmod(-std::round(counter_clockwise * 100) / 100 + 720, 360);
  display.rotation = clockwise == 0 ? 0 : clockwise;
  return display;
}

void describe_codec(const AVCodecParameters& parameters, StreamInfo& info) {
  info.codec = avcodec_get_name(parameters.codec_id);
  const char* profile = avcodec_profile_name(parameters.codec_id, parameters.profile);
  info.profile = profile ? profile : "";
  info.bit_rate = std::max<std::int64_t>(0, parameters.bit_rate);
  if (parameters.codec_type == AVMEDIA_TYPE_VIDEO) describe_video(parameters, info);
  info.extradata.resize(parameters.extradata ? static_cast<std::size_t>(parameters.extradata_size) : 0);
  if (!info.extradata.empty())
    std::memcpy(info.extradata.data(), parameters.extradata, info.extradata.size());
  ParametersPtr copy = make_parameters();
  check(avcodec_parameters_copy(copy.get(), &parameters) >= 0, ErrorCode::out_of_memory,
        "stream: memory was refused by the system");
  info.parameters = std::shared_ptr<const AVCodecParameters>(copy.release(), ParametersFree());
}

StreamInfo describe(AVFormatContext* context, const AVStream& stream) {
  StreamInfo info;
  info.index = stream.index;
  const char* kind = av_get_media_type_string(stream.codecpar->codec_type);
  info.kind = kind ? kind : "data";
  describe_codec(*stream.codecpar, info);
  info.time_base = to_rational(stream.time_base);
  info.average_rate = frame_rate(context, const_cast<AVStream*>(&stream));
  if (stream.sample_aspect_ratio.num > 0) info.sample_aspect = to_rational(stream.sample_aspect_ratio);
  if (const std::int32_t* matrix = display_matrix(stream)) {
    const Display display = display_of(matrix);
    info.mirror = display.mirror;
    info.rotation = display.rotation;
  }
  info.start_pts = to_pts(stream.start_time);
  info.duration = stream.duration == AV_NOPTS_VALUE ? 0 : std::max<std::int64_t>(0, stream.duration);
  info.frames = std::max<std::int64_t>(0, stream.nb_frames);
  info.metadata = entries_of(stream.metadata);
  if (info.color.matrix == ColorMatrix::unspecified)
    info.color.matrix = matrix_without_name(ColorScanner(info).codes());
  if (info.format == PixelFormat::yuv420p && alpha_decoder(info)) {
    info.format = PixelFormat::yuva420p;
    info.native_format = to_string(info.format);
  }
  return info;
}

const AVCodec* alpha_decoder(const StreamInfo& stream) {
  const char* name = stream.codec == "vp9" ? "libvpx-vp9" : stream.codec == "vp8" ? "libvpx" : nullptr;
  const auto mode = stream.metadata.find("alpha_mode");
  const bool has_alpha = name && mode != stream.metadata.end() && mode->second == "1";
  return has_alpha ? avcodec_find_decoder_by_name(name) : nullptr;
}

std::map<std::string, std::string> entries_of(const AVDictionary* dictionary) {
  std::map<std::string, std::string> entries;
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX)))
    entries[clean_text(entry->key)] = clean_text(entry->value);
  return entries;
}

AVCodecID codec_id(const std::string& name) {
  if (const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name.c_str()))
    return descriptor->id;
  if (const AVCodec* codec = avcodec_find_decoder_by_name(name.c_str())) return codec->id;
  fail(ErrorCode::unsupported, "codec '{}' is not known to FFmpeg {}; `lanner doctor` lists those that are",
       name, av_version_info());
}

CodecContextPtr make_codec_context(const AVCodec& codec, const AVCodecParameters& parameters,
                                   const StreamInfo& stream) {
  CodecContextPtr context(avcodec_alloc_context3(&codec));
  if (!context) throw std::bad_alloc();
  check(avcodec_parameters_to_context(context.get(), &parameters) >= 0, ErrorCode::bad_data,
        "stream {}: its description is malformed", stream.index);
  context->pkt_timebase = from_rational(stream.time_base);
  return context;
}

ParametersPtr to_parameters(const StreamInfo& info) {
  ParametersPtr result = make_parameters();
  if (std::get_deleter<ParametersFree>(info.parameters)) {
    const auto* own = static_cast<const AVCodecParameters*>(info.parameters.get());
    check(avcodec_parameters_copy(result.get(), own) >= 0, ErrorCode::out_of_memory,
          "stream: memory was refused by the system");
    return result;
  }
  result->codec_type = AVMEDIA_TYPE_VIDEO;
  result->codec_id = codec_id(info.codec);
  result->width = info.width;
  result->height = info.height;
  result->format = to_av(info.format);
  result->bit_rate = info.bit_rate;
  result->sample_aspect_ratio = from_rational(info.sample_aspect);
  result->color_space = to_av(info.color.matrix);
  result->color_range = to_av(info.color.range);
  result->chroma_location = to_av(info.color.siting);
  result->color_primaries = static_cast<AVColorPrimaries>(info.color.primaries);
  result->color_trc = static_cast<AVColorTransferCharacteristic>(info.color.transfer);
  if (!info.extradata.empty()) set_extradata(*result, info.extradata);
  return result;
}

void set_extradata(AVCodecParameters& parameters, std::span<const std::byte> bytes) {
  check(bytes.size() < (1u << 28), ErrorCode::limit_exceeded,
        "stream: {} bytes of extradata, at most {} are taken", bytes.size(), 1 << 28);
  av_freep(&parameters.extradata);
  parameters.extradata_size = 0;
  parameters.extradata = static_cast<std::uint8_t*>(av_mallocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  check(parameters.extradata != nullptr, ErrorCode::out_of_memory,
        "stream: memory was refused by the system");
  std::memcpy(parameters.extradata, bytes.data(), bytes.size());
  parameters.extradata_size = static_cast<int>(bytes.size());
}

} // namespace lanner::ffmpeg
