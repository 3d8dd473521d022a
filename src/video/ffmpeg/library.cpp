#include "video/ffmpeg/library.h"

#include <cstddef>

namespace lanner::ffmpeg {

// Facts of a frame became flags, and its duration lost its prefix.
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
bool is_key(const AVFrame& frame) {
  return (frame.flags & AV_FRAME_FLAG_KEY) != 0;
}
bool is_interlaced(const AVFrame& frame) {
  return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0;
}
#else
bool is_key(const AVFrame& frame) {
  return frame.key_frame != 0;
}
bool is_interlaced(const AVFrame& frame) {
  return frame.interlaced_frame != 0;
}
#endif

std::int64_t duration_of(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
  return frame.duration;
#else
  return frame.pkt_duration;
#endif
}

const std::int32_t* display_matrix(const AVStream& stream) {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 30, 100)
  const AVPacketSideData* side = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  if (side) data = side->data, size = side->size;
#else
  data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
#endif
  return data && size >= 36 ? reinterpret_cast<const std::int32_t*>(data) : nullptr;
}

const AVPixelFormat* pixel_formats(const AVCodec& encoder) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
  const void* list = nullptr;
  avcodec_get_supported_config(nullptr, &encoder, AV_CODEC_CONFIG_PIX_FORMAT, 0, &list, nullptr);
  return static_cast<const AVPixelFormat*>(list);
#else
  return encoder.pix_fmts;
#endif
}

} // namespace lanner::ffmpeg
