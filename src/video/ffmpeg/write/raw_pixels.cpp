#include "video/ffmpeg/write/raw_pixels.h"

#include <algorithm>
#include <span>

#include "base/check.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {
namespace {

// Those that FFmpeg 5 to 7 read back as they were written.
constexpr AVPixelFormat of_avi[] = {AV_PIX_FMT_BGR24,   AV_PIX_FMT_BGRA,    AV_PIX_FMT_RGBA,
                                    AV_PIX_FMT_GRAY8,   AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,
                                    AV_PIX_FMT_YUV410P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_NV12,
                                    AV_PIX_FMT_NV21,    AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422};
constexpr AVPixelFormat of_mov[] = {AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24,   AV_PIX_FMT_RGBA,   AV_PIX_FMT_BGRA,
                                    AV_PIX_FMT_ARGB,  AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422};

std::string names_of(std::span<const AVPixelFormat> formats) {
  std::string names;
  for (const AVPixelFormat format : formats)
    names += (names.empty() ? "" : ", ") + std::string(av_get_pix_fmt_name(format));
  return names;
}

} // namespace

void check_raw_pixels(const std::string& path, const std::string& container,
                      const AVCodecParameters& parameters) {
  if (parameters.codec_id != AV_CODEC_ID_RAWVIDEO || (container != "avi" && container != "mov")) return;
  const auto format = static_cast<AVPixelFormat>(parameters.format);
  const std::span<const AVPixelFormat> kept =
      container == "avi" ? std::span<const AVPixelFormat>(of_avi) : of_mov;
  const char* const name = av_get_pix_fmt_name(format);
  check(std::ranges::find(kept, format) != kept.end(), ErrorCode::unsupported,
        "{}: rawvideo of {} would be read as other pixels from {}; expected one of {}, another codec, as "
        "ffv1, or .nut",
        path, name ? name : "unknown pixels", container, names_of(kept));
}

} // namespace lanner::ffmpeg
