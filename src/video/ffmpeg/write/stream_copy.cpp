#include "video/ffmpeg/write/stream_copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "video/bitstream/webp_chunks.h"
#include "video/ffmpeg/library.h"

namespace lanner::ffmpeg {

namespace {

/// What MPEG-TS has stream types for; FFmpeg writes others as private data that nothing plays.
constexpr AVCodecID of_transport_streams[] = {
    AV_CODEC_ID_MP1,         AV_CODEC_ID_MP2,  AV_CODEC_ID_MP3,   AV_CODEC_ID_AAC,
    AV_CODEC_ID_AAC_LATM,    AV_CODEC_ID_AC3,  AV_CODEC_ID_EAC3,  AV_CODEC_ID_DTS,
    AV_CODEC_ID_TRUEHD,      AV_CODEC_ID_OPUS, AV_CODEC_ID_S302M, AV_CODEC_ID_DVB_SUBTITLE,
    AV_CODEC_ID_DVB_TELETEXT};
constexpr AVCodecID of_transport_videos[] = {
    AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,
    AV_CODEC_ID_CAVS,       AV_CODEC_ID_AVS2,       AV_CODEC_ID_VC1,   AV_CODEC_ID_DIRAC};

bool is_named(const AVOutputFormat& format, std::string_view name) {
  return format.name && name == format.name;
}

bool is_cover(const AVStream& stream) {
  return stream.disposition & AV_DISPOSITION_ATTACHED_PIC;
}

bool holds_codec(const AVOutputFormat& format, AVCodecID codec) {
  if (is_named(format, "mpegts"))
    return std::find(std::begin(of_transport_streams), std::end(of_transport_streams), codec) !=
           std::end(of_transport_streams);
  return avformat_query_codec(&format, codec, FF_COMPLIANCE_NORMAL) == 1;
}

/// Containers with a table of codecs refuse others by themselves, with FFmpeg's own reason.
bool holds_video(const AVOutputFormat& format, const AVCodecParameters& stream) {
  const AVCodecID codec = stream.codec_id;
  // Chunks of an animated WebP's file are no pictures to FFmpeg's muxers.
  const Bytes head(reinterpret_cast<const std::byte*>(stream.extradata),
                   static_cast<std::size_t>(std::max(0, stream.extradata_size)));
  if (codec == AV_CODEC_ID_WEBP && animated_webp(head)) return false;
  if (is_named(format, "mpegts"))
    return std::find(std::begin(of_transport_videos), std::end(of_transport_videos), codec) !=
           std::end(of_transport_videos);
  const bool bare = (format.flags & AVFMT_NOTIMESTAMPS) && format.video_codec != AV_CODEC_ID_NONE;
  return !bare || codec == format.video_codec;
}

bool holds_cover(const AVOutputFormat& format, const AVStream& stream) {
  const AVCodecID codec = stream.codecpar->codec_id;
  const bool known = codec == AV_CODEC_ID_MJPEG || codec == AV_CODEC_ID_PNG;
  if (!known || stream.attached_pic.size <= 0) return false;
  return is_named(format, "mp4") || is_named(format, "mov") || is_named(format, "ipod") ||
         is_named(format, "matroska");
}

void copy_entries(AVDictionary** to, const AVDictionary* from) {
  if (av_dict_copy(to, from, 0) < 0) throw std::bad_alloc();
}

void set_entry(AVDictionary** dictionary, const char* key, const char* value) {
  if (av_dict_set(dictionary, key, value, 0) < 0) throw std::bad_alloc();
}

/// Matroska keeps covers as attached files.
void attach_cover(const AVStream& from, AVStream& to) {
  AVCodecParameters& parameters = *to.codecpar;
  const auto size = static_cast<std::size_t>(from.attached_pic.size);
  auto* bytes = static_cast<std::uint8_t*>(av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE));
  if (!bytes) throw std::bad_alloc();
  std::memcpy(bytes, from.attached_pic.data, size);
  av_freep(&parameters.extradata);
  parameters.extradata = bytes;
  parameters.extradata_size = from.attached_pic.size;
  parameters.codec_type = AVMEDIA_TYPE_ATTACHMENT;
  const bool png = from.codecpar->codec_id == AV_CODEC_ID_PNG;
  set_entry(&to.metadata, "filename", png ? "cover.png" : "cover.jpg");
  set_entry(&to.metadata, "mimetype", png ? "image/png" : "image/jpeg");
}

} // namespace

bool holds(const AVOutputFormat& format, const AVCodecParameters& stream) {
  switch (stream.codec_type) {
  case AVMEDIA_TYPE_AUDIO:
  case AVMEDIA_TYPE_SUBTITLE:
    return holds_codec(format, stream.codec_id);
  case AVMEDIA_TYPE_VIDEO:
    return holds_video(format, stream);
  default:
    return true;
  }
}

std::string copy_refusal(const AVOutputFormat& format, const AVStream& stream) {
  const AVCodecID codec = stream.codecpar->codec_id;
  switch (stream.codecpar->codec_type) {
  case AVMEDIA_TYPE_AUDIO:
  case AVMEDIA_TYPE_SUBTITLE:
    if (codec == AV_CODEC_ID_NONE) return "its codec is not known";
    return holds_codec(format, codec) ? std::string() : fmt::format("{} cannot hold it", format.name);
  case AVMEDIA_TYPE_ATTACHMENT:
    if (!is_named(format, "matroska")) return fmt::format("{} cannot hold it", format.name);
    return av_dict_get(stream.metadata, "filename", nullptr, 0) ? "" : "it has no file name";
  case AVMEDIA_TYPE_VIDEO:
    if (!is_cover(stream))
      return holds_video(format, *stream.codecpar) ? std::string()
                                                   : fmt::format("{} cannot hold it", format.name);
    return holds_cover(format, stream) ? std::string() : fmt::format("{} cannot hold it", format.name);
  default:
    return "data streams are not copied";
  }
}

void describe_copy(const AVOutputFormat& format, const AVStream& from, AVStream& to) {
  if (avcodec_parameters_copy(to.codecpar, from.codecpar) < 0) throw std::bad_alloc();
  copy_stream_side_data(from, to);
  copy_entries(&to.metadata, from.metadata);
  to.time_base = from.time_base;
  to.disposition = from.disposition;
  to.avg_frame_rate = from.avg_frame_rate;
  to.sample_aspect_ratio = from.sample_aspect_ratio;
  if (is_cover(from) && is_named(format, "matroska")) attach_cover(from, to);
}

int copy_chapters(const AVFormatContext& from, double begin, double end, AVFormatContext& to) {
  int count = 0;
  for (unsigned i = 0; i < from.nb_chapters; ++i) {
    const AVChapter& chapter = *from.chapters[i];
    const double tick = av_q2d(chapter.time_base);
    const double first = std::max(static_cast<double>(chapter.start) * tick, begin);
    const double last = std::min(static_cast<double>(chapter.end) * tick, end);
    if (!(first < last) || !(tick > 0)) continue;
    auto* copy = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
    if (!copy) throw std::bad_alloc();
    if (av_dynarray_add_nofree(&to.chapters, reinterpret_cast<int*>(&to.nb_chapters), copy) < 0) {
      av_free(copy);
      throw std::bad_alloc();
    }
    copy->id = chapter.id;
    copy->time_base = chapter.time_base;
    copy->start = std::llround((first - begin) / tick);
    copy->end = std::llround((last - begin) / tick);
    copy_entries(&copy->metadata, chapter.metadata);
    ++count;
  }
  return count;
}

void set_entries(AVDictionary** dictionary, const std::map<std::string, std::string>& entries) {
  for (const auto& [key, value] : entries)
    set_entry(dictionary, key.c_str(), value.empty() ? nullptr : value.c_str());
}

} // namespace lanner::ffmpeg
