#include "video/ffmpeg/pixel_format.h"

#include <algorithm>
#include <iterator>

#include "video/ffmpeg/unpack.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {

namespace {

struct Twin {
  PixelFormat format;
  AVPixelFormat av;
  std::array<std::uint8_t, 3> planes{0, 1, 2};
};

constexpr std::array<std::uint8_t, 3> gbr_planes{2, 0, 1};

constexpr Twin twins[] = {
    {PixelFormat::gray8, AV_PIX_FMT_GRAY8},
    {PixelFormat::gray16, AV_PIX_FMT_GRAY16LE},
    {PixelFormat::rgb24, AV_PIX_FMT_RGB24},
    {PixelFormat::bgr24, AV_PIX_FMT_BGR24},
    {PixelFormat::rgba32, AV_PIX_FMT_RGBA},
    {PixelFormat::bgra32, AV_PIX_FMT_BGRA},
    {PixelFormat::rgb_planar, AV_PIX_FMT_GBRP, gbr_planes},
    {PixelFormat::nv12, AV_PIX_FMT_NV12},
    {PixelFormat::p010, AV_PIX_FMT_P010LE},
    {PixelFormat::p016, AV_PIX_FMT_P016LE},
    {PixelFormat::nv16, AV_PIX_FMT_NV16},
    {PixelFormat::p210, AV_PIX_FMT_P210LE},
    {PixelFormat::p216, AV_PIX_FMT_P216LE},
    {PixelFormat::yuv420p, AV_PIX_FMT_YUV420P},
    {PixelFormat::yuv422p, AV_PIX_FMT_YUV422P},
    {PixelFormat::yuv444p, AV_PIX_FMT_YUV444P},
    {PixelFormat::yuv420p10, AV_PIX_FMT_YUV420P10LE},
    {PixelFormat::yuv422p10, AV_PIX_FMT_YUV422P10LE},
    {PixelFormat::yuv444p10, AV_PIX_FMT_YUV444P10LE},
    {PixelFormat::yuv420p12, AV_PIX_FMT_YUV420P12LE},
    {PixelFormat::yuv422p12, AV_PIX_FMT_YUV422P12LE},
    {PixelFormat::yuv444p12, AV_PIX_FMT_YUV444P12LE},
    {PixelFormat::yuv420p16, AV_PIX_FMT_YUV420P16LE},
    {PixelFormat::yuv422p16, AV_PIX_FMT_YUV422P16LE},
    {PixelFormat::yuv444p16, AV_PIX_FMT_YUV444P16LE},
    {PixelFormat::rgb48, AV_PIX_FMT_RGB48LE},
};

// FFmpeg's other names for the same planes: full range by name (below), or an alpha plane after the colour
// planes.
constexpr Twin aliases[] = {
    {PixelFormat::yuv420p, AV_PIX_FMT_YUVJ420P},
    {PixelFormat::yuv422p, AV_PIX_FMT_YUVJ422P},
    {PixelFormat::yuv444p, AV_PIX_FMT_YUVJ444P},
    {PixelFormat::yuv420p, AV_PIX_FMT_YUVA420P},
    {PixelFormat::yuv422p, AV_PIX_FMT_YUVA422P},
    {PixelFormat::yuv444p, AV_PIX_FMT_YUVA444P},
    {PixelFormat::yuv420p10, AV_PIX_FMT_YUVA420P10LE},
    {PixelFormat::yuv422p10, AV_PIX_FMT_YUVA422P10LE},
    {PixelFormat::yuv444p10, AV_PIX_FMT_YUVA444P10LE},
    {PixelFormat::yuv422p12, AV_PIX_FMT_YUVA422P12LE},
    {PixelFormat::yuv444p12, AV_PIX_FMT_YUVA444P12LE},
    {PixelFormat::yuv420p16, AV_PIX_FMT_YUVA420P16LE},
    {PixelFormat::yuv422p16, AV_PIX_FMT_YUVA422P16LE},
    {PixelFormat::yuv444p16, AV_PIX_FMT_YUVA444P16LE},
    {PixelFormat::rgb_planar, AV_PIX_FMT_GBRAP, gbr_planes},
};

bool is_full_range(AVPixelFormat format) noexcept {
  constexpr AVPixelFormat formats[] = {AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P,
                                       AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUVJ440P};
  return std::ranges::find(formats, format) != std::end(formats);
}

} // namespace

std::optional<DirectFormat> direct_format(AVPixelFormat format) noexcept {
  for (const Twin& twin : twins)
    if (twin.av == format) return DirectFormat{twin.format, twin.planes};
  for (const Twin& alias : aliases) {
    if (alias.av != format) continue;
    const AVPixFmtDescriptor* facts = av_pix_fmt_desc_get(format);
    return DirectFormat{alias.format, alias.planes, is_full_range(format),
                        facts && (facts->flags & AV_PIX_FMT_FLAG_ALPHA)};
  }
  return std::nullopt;
}

AVPixelFormat to_av(PixelFormat format) noexcept {
  for (const Twin& twin : twins)
    if (twin.format == format) return twin.av;
  return AV_PIX_FMT_NONE; // bgr_planar: FFmpeg has none.
}

PixelFormat nearest_format(AVPixelFormat format) noexcept {
  if (const auto direct = direct_format(format)) return direct->format;
  return unpacked_format(format);
}

AVColorSpace to_av(ColorMatrix matrix) noexcept {
  switch (matrix) {
  case ColorMatrix::rgb:
    return AVCOL_SPC_RGB;
  case ColorMatrix::bt709:
    return AVCOL_SPC_BT709;
  case ColorMatrix::fcc:
    return AVCOL_SPC_FCC;
  case ColorMatrix::bt601:
    return AVCOL_SPC_SMPTE170M;
  case ColorMatrix::smpte240m:
    return AVCOL_SPC_SMPTE240M;
  case ColorMatrix::bt2020:
    return AVCOL_SPC_BT2020_NCL;
  case ColorMatrix::unspecified:
    break;
  }
  return AVCOL_SPC_UNSPECIFIED;
}

namespace {

ColorMatrix to_matrix(int space) noexcept {
  switch (space) {
  case AVCOL_SPC_RGB:
    return ColorMatrix::rgb;
  case AVCOL_SPC_BT709:
    return ColorMatrix::bt709;
  case AVCOL_SPC_FCC:
    return ColorMatrix::fcc;
  case AVCOL_SPC_BT470BG:
  case AVCOL_SPC_SMPTE170M:
    return ColorMatrix::bt601;
  case AVCOL_SPC_SMPTE240M:
    return ColorMatrix::smpte240m;
  case AVCOL_SPC_BT2020_NCL:
    return ColorMatrix::bt2020;
  default:
    return ColorMatrix::unspecified;
  }
}

ColorInfo color_info(int space, int range, int siting, int primaries, int transfer) noexcept {
  ColorInfo color;
  color.matrix = to_matrix(space);
  if (range == AVCOL_RANGE_MPEG) color.range = ColorRange::limited;
  if (range == AVCOL_RANGE_JPEG) color.range = ColorRange::full;
  // FFmpeg numbers the places as H.273 does, plus one, and so does ChromaSiting.
  if (siting > AVCHROMA_LOC_UNSPECIFIED && siting <= AVCHROMA_LOC_BOTTOM)
    color.siting = static_cast<ChromaSiting>(siting);
  if (primaries > 0 && primaries < AVCOL_PRI_NB) color.primaries = static_cast<std::uint8_t>(primaries);
  if (transfer > 0 && transfer < AVCOL_TRC_NB) color.transfer = static_cast<std::uint8_t>(transfer);
  return color;
}

} // namespace

ColorInfo color_of(const AVFrame& frame) noexcept {
  ColorInfo color =
      color_info(code_of(frame.colorspace), code_of(frame.color_range), code_of(frame.chroma_location),
                 code_of(frame.color_primaries), code_of(frame.color_trc));
  if (is_full_range(static_cast<AVPixelFormat>(frame.format))) color.range = ColorRange::full;
  return color;
}

ColorInfo color_of(const AVCodecParameters& parameters) noexcept {
  ColorInfo color = color_info(code_of(parameters.color_space), code_of(parameters.color_range),
                               code_of(parameters.chroma_location), code_of(parameters.color_primaries),
                               code_of(parameters.color_trc));
  if (is_full_range(static_cast<AVPixelFormat>(parameters.format))) color.range = ColorRange::full;
  return color;
}

AVColorRange to_av(ColorRange range) noexcept {
  if (range == ColorRange::full) return AVCOL_RANGE_JPEG;
  return range == ColorRange::limited ? AVCOL_RANGE_MPEG : AVCOL_RANGE_UNSPECIFIED;
}

AVChromaLocation to_av(ChromaSiting siting) noexcept {
  return static_cast<AVChromaLocation>(siting);
}

} // namespace lanner::ffmpeg
