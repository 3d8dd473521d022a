#include "video/ffmpeg/library.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

namespace lanner::ffmpeg {

// Facts of a frame became flags, and its duration lost its prefix.
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
bool is_key(const AVFrame& frame) {
  return (frame.flags & AV_FRAME_FLAG_KEY) != 0;
}
bool is_interlaced(const AVFrame& frame) {
  return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0;
}
bool is_top_field_first(const AVFrame& frame) {
  return (frame.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
}
void mark_fields(AVFrame& frame, bool interlaced, bool top_field_first) {
  frame.flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
  if (interlaced) frame.flags |= AV_FRAME_FLAG_INTERLACED;
  if (top_field_first) frame.flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
}
#else
bool is_key(const AVFrame& frame) {
  return frame.key_frame != 0;
}
bool is_interlaced(const AVFrame& frame) {
  return frame.interlaced_frame != 0;
}
bool is_top_field_first(const AVFrame& frame) {
  return frame.top_field_first != 0;
}
void mark_fields(AVFrame& frame, bool interlaced, bool top_field_first) {
  frame.interlaced_frame = interlaced;
  frame.top_field_first = top_field_first;
}
#endif

std::int64_t duration_of(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return frame.duration;
#else
  return frame.pkt_duration;
#endif
}

#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 2, 100)
void carry_marks(AVCodecContext& context) {
  context.flags |= AV_CODEC_FLAG_COPY_OPAQUE;
}
int send_marked(AVCodecContext& context, AVPacket& packet, std::int64_t mark) {
  packet.opaque = reinterpret_cast<void*>(static_cast<std::uintptr_t>(mark));
  return avcodec_send_packet(&context, &packet);
}
std::int64_t mark_of(const AVFrame& frame) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(frame.opaque));
}
#else
void carry_marks(AVCodecContext& context) {
  context.reordered_opaque = 0;
}
// The context's number is taken when a packet is decoded, which may be after it was sent; but then no other
// packet is taken before that.
int send_marked(AVCodecContext& context, AVPacket& packet, std::int64_t mark) {
  const std::int64_t before = context.reordered_opaque;
  context.reordered_opaque = mark;
  const int status = avcodec_send_packet(&context, &packet);
  if (status == AVERROR(EAGAIN)) context.reordered_opaque = before;
  return status;
}
std::int64_t mark_of(const AVFrame& frame) {
  return frame.reordered_opaque > 0 ? frame.reordered_opaque : 0;
}
#endif

#if LIBAVCODEC_VERSION_MAJOR < 60
void call_from_any_thread(AVCodecContext& context) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  context.thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
}
#else
void call_from_any_thread(AVCodecContext&) {}
#endif

// Side data of streams became part of their codec parameters.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
const std::uint8_t* stream_side_data(const AVStream& stream, AVPacketSideDataType type, std::size_t& size) {
  const AVPacketSideData* side =
      av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, type);
  size = side ? side->size : 0;
  return side ? side->data : nullptr;
}
void add_stream_side_data(AVStream& stream, AVPacketSideDataType type, const void* data, std::size_t size) {
  AVPacketSideData* side = av_packet_side_data_new(&stream.codecpar->coded_side_data,
                                                   &stream.codecpar->nb_coded_side_data, type, size, 0);
  if (!side) throw std::bad_alloc();
  std::memcpy(side->data, data, size);
}
void copy_stream_side_data(const AVStream&, AVStream&) {}
#else
const std::uint8_t* stream_side_data(const AVStream& stream, AVPacketSideDataType type, std::size_t& size) {
  size = 0;
  return av_stream_get_side_data(&stream, type, &size);
}
void add_stream_side_data(AVStream& stream, AVPacketSideDataType type, const void* data, std::size_t size) {
  std::uint8_t* memory = av_stream_new_side_data(&stream, type, size);
  if (!memory) throw std::bad_alloc();
  std::memcpy(memory, data, size);
}
void copy_stream_side_data(const AVStream& from, AVStream& to) {
  for (int i = 0; i < from.nb_side_data; ++i)
    add_stream_side_data(to, from.side_data[i].type, from.side_data[i].data, from.side_data[i].size);
}
#endif

const std::int32_t* display_matrix(const AVStream& stream) {
  std::size_t size = 0;
  const std::uint8_t* data = stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, size);
  return data && size >= 36 ? reinterpret_cast<const std::int32_t*>(data) : nullptr;
}

// 7.1 takes a playlist only for one when it is named so, too.
int probe_format(AVIOContext* io, const AVInputFormat** format) {
  constexpr std::string_view playlist = "#EXTM3U";
  const int status = av_probe_input_buffer2(io, format, "", nullptr, 0, 0);
  if (status != AVERROR_INVALIDDATA) return status;
  unsigned char begin[playlist.size()] = {};
  const int count = avio_read(io, begin, sizeof begin);
  if (avio_seek(io, 0, SEEK_SET) != 0 || count != sizeof begin ||
      std::memcmp(begin, playlist.data(), sizeof begin) != 0)
    return status;
  return av_probe_input_buffer2(io, format, "playlist.m3u8", nullptr, 0, 0);
}

#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
static const void* supported(const AVCodec& encoder, AVCodecConfig config) {
  const void* list = nullptr;
  avcodec_get_supported_config(nullptr, &encoder, config, 0, &list, nullptr);
  return list;
}
const AVPixelFormat* pixel_formats(const AVCodec& encoder) {
  return static_cast<const AVPixelFormat*>(supported(encoder, AV_CODEC_CONFIG_PIX_FORMAT));
}
const AVSampleFormat* sample_formats(const AVCodec& encoder) {
  return static_cast<const AVSampleFormat*>(supported(encoder, AV_CODEC_CONFIG_SAMPLE_FORMAT));
}
const int* sample_rates(const AVCodec& encoder) {
  return static_cast<const int*>(supported(encoder, AV_CODEC_CONFIG_SAMPLE_RATE));
}
const AVChannelLayout* channel_layouts(const AVCodec& encoder) {
  return static_cast<const AVChannelLayout*>(supported(encoder, AV_CODEC_CONFIG_CHANNEL_LAYOUT));
}
#else
const AVPixelFormat* pixel_formats(const AVCodec& encoder) {
  return encoder.pix_fmts;
}
const AVSampleFormat* sample_formats(const AVCodec& encoder) {
  return encoder.sample_fmts;
}
const int* sample_rates(const AVCodec& encoder) {
  return encoder.supported_samplerates;
}
const AVChannelLayout* channel_layouts(const AVCodec& encoder) {
  return encoder.ch_layouts;
}
#endif

} // namespace lanner::ffmpeg
