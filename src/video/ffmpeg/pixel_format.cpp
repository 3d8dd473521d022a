#include "video/ffmpeg/pixel_format.h"

#include <algorithm>
#include <iterator>

#include "image/matrix_codes.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/unpack.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {

namespace {

struct Twin {
  PixelFormat format;
  AVPixelFormat av;
};

// Planes lie in the same order. FFmpeg 5.1 and 7.1 have none for rgb_planar, bgr_planar and ...msb.
constexpr Twin twins[] = {
    {PixelFormat::gray8, AV_PIX_FMT_GRAY8},
    {PixelFormat::gray9, AV_PIX_FMT_GRAY9LE},
    {PixelFormat::gray10, AV_PIX_FMT_GRAY10LE},
    {PixelFormat::gray12, AV_PIX_FMT_GRAY12LE},
    {PixelFormat::gray14, AV_PIX_FMT_GRAY14LE},
    {PixelFormat::gray16, AV_PIX_FMT_GRAY16LE},
    {PixelFormat::ya8, AV_PIX_FMT_YA8},
    {PixelFormat::ya16, AV_PIX_FMT_YA16LE},
    {PixelFormat::rgb24, AV_PIX_FMT_RGB24},
    {PixelFormat::bgr24, AV_PIX_FMT_BGR24},
    {PixelFormat::rgba32, AV_PIX_FMT_RGBA},
    {PixelFormat::bgra32, AV_PIX_FMT_BGRA},
    {PixelFormat::rgb48, AV_PIX_FMT_RGB48LE},
    {PixelFormat::bgr48, AV_PIX_FMT_BGR48LE},
    {PixelFormat::rgba64, AV_PIX_FMT_RGBA64LE},
    {PixelFormat::bgra64, AV_PIX_FMT_BGRA64LE},
    {PixelFormat::gbrp, AV_PIX_FMT_GBRP},
    {PixelFormat::gbrp9, AV_PIX_FMT_GBRP9LE},
    {PixelFormat::gbrp10, AV_PIX_FMT_GBRP10LE},
    {PixelFormat::gbrp12, AV_PIX_FMT_GBRP12LE},
    {PixelFormat::gbrp14, AV_PIX_FMT_GBRP14LE},
    {PixelFormat::gbrp16, AV_PIX_FMT_GBRP16LE},
    {PixelFormat::gbrap, AV_PIX_FMT_GBRAP},
    {PixelFormat::gbrap10, AV_PIX_FMT_GBRAP10LE},
    {PixelFormat::gbrap12, AV_PIX_FMT_GBRAP12LE},
    {PixelFormat::gbrap16, AV_PIX_FMT_GBRAP16LE},
    {PixelFormat::nv12, AV_PIX_FMT_NV12},
    {PixelFormat::p010, AV_PIX_FMT_P010LE},
    {PixelFormat::p016, AV_PIX_FMT_P016LE},
    {PixelFormat::nv16, AV_PIX_FMT_NV16},
    {PixelFormat::p210, AV_PIX_FMT_P210LE},
    {PixelFormat::p216, AV_PIX_FMT_P216LE},
    {PixelFormat::p012, pixel_format_p012},
    {PixelFormat::p212, pixel_format_p212},
    {PixelFormat::yuv410p, AV_PIX_FMT_YUV410P},
    {PixelFormat::yuv411p, AV_PIX_FMT_YUV411P},
    {PixelFormat::yuv440p, AV_PIX_FMT_YUV440P},
    {PixelFormat::yuv440p10, AV_PIX_FMT_YUV440P10LE},
    {PixelFormat::yuv440p12, AV_PIX_FMT_YUV440P12LE},
    {PixelFormat::yuv420p, AV_PIX_FMT_YUV420P},
    {PixelFormat::yuv422p, AV_PIX_FMT_YUV422P},
    {PixelFormat::yuv444p, AV_PIX_FMT_YUV444P},
    {PixelFormat::yuv420p9, AV_PIX_FMT_YUV420P9LE},
    {PixelFormat::yuv422p9, AV_PIX_FMT_YUV422P9LE},
    {PixelFormat::yuv444p9, AV_PIX_FMT_YUV444P9LE},
    {PixelFormat::yuv420p10, AV_PIX_FMT_YUV420P10LE},
    {PixelFormat::yuv422p10, AV_PIX_FMT_YUV422P10LE},
    {PixelFormat::yuv444p10, AV_PIX_FMT_YUV444P10LE},
    {PixelFormat::yuv420p12, AV_PIX_FMT_YUV420P12LE},
    {PixelFormat::yuv422p12, AV_PIX_FMT_YUV422P12LE},
    {PixelFormat::yuv444p12, AV_PIX_FMT_YUV444P12LE},
    {PixelFormat::yuv420p14, AV_PIX_FMT_YUV420P14LE},
    {PixelFormat::yuv422p14, AV_PIX_FMT_YUV422P14LE},
    {PixelFormat::yuv444p14, AV_PIX_FMT_YUV444P14LE},
    {PixelFormat::yuv420p16, AV_PIX_FMT_YUV420P16LE},
    {PixelFormat::yuv422p16, AV_PIX_FMT_YUV422P16LE},
    {PixelFormat::yuv444p16, AV_PIX_FMT_YUV444P16LE},
    {PixelFormat::yuva420p, AV_PIX_FMT_YUVA420P},
    {PixelFormat::yuva422p, AV_PIX_FMT_YUVA422P},
    {PixelFormat::yuva444p, AV_PIX_FMT_YUVA444P},
    {PixelFormat::yuva420p9, AV_PIX_FMT_YUVA420P9LE},
    {PixelFormat::yuva422p9, AV_PIX_FMT_YUVA422P9LE},
    {PixelFormat::yuva444p9, AV_PIX_FMT_YUVA444P9LE},
    {PixelFormat::yuva420p10, AV_PIX_FMT_YUVA420P10LE},
    {PixelFormat::yuva422p10, AV_PIX_FMT_YUVA422P10LE},
    {PixelFormat::yuva444p10, AV_PIX_FMT_YUVA444P10LE},
    {PixelFormat::yuva422p12, AV_PIX_FMT_YUVA422P12LE},
    {PixelFormat::yuva444p12, AV_PIX_FMT_YUVA444P12LE},
    {PixelFormat::yuva420p16, AV_PIX_FMT_YUVA420P16LE},
    {PixelFormat::yuva422p16, AV_PIX_FMT_YUVA422P16LE},
    {PixelFormat::yuva444p16, AV_PIX_FMT_YUVA444P16LE},
};

// FFmpeg's other names for the same planes, which name full range (is_full_range()).
constexpr Twin aliases[] = {
    {PixelFormat::yuv420p, AV_PIX_FMT_YUVJ420P}, {PixelFormat::yuv422p, AV_PIX_FMT_YUVJ422P},
    {PixelFormat::yuv444p, AV_PIX_FMT_YUVJ444P}, {PixelFormat::yuv411p, AV_PIX_FMT_YUVJ411P},
    {PixelFormat::yuv440p, AV_PIX_FMT_YUVJ440P},
};

bool is_full_range(AVPixelFormat format) noexcept {
  constexpr AVPixelFormat formats[] = {AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P,
                                       AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUVJ440P};
  return std::ranges::find(formats, format) != std::end(formats);
}

} // namespace

std::optional<DirectFormat> direct_format(AVPixelFormat format) noexcept {
  if (format == AV_PIX_FMT_NONE) return std::nullopt;
  for (const Twin& twin : twins)
    if (twin.av == format) return DirectFormat{twin.format};
  for (const Twin& alias : aliases)
    if (alias.av == format) return DirectFormat{alias.format, true};
  return std::nullopt;
}

AVPixelFormat to_av(PixelFormat format) noexcept {
  for (const Twin& twin : twins)
    if (twin.format == format) return twin.av;
  return AV_PIX_FMT_NONE;
}

AVPixelFormat like_in_av(PixelFormat format) noexcept {
  const AVPixelFormat own = to_av(format);
  if (own != AV_PIX_FMT_NONE) return own;
  const PixelFormatInfo& facts = format_info(format);
  for (const Twin& twin : twins) {
    const PixelFormatInfo& other = format_info(twin.format);
    const bool same = other.planes == 3 && !other.alpha_plane && other.yuv == facts.yuv &&
                      other.bits == facts.bits && other.chroma_x == facts.chroma_x &&
                      other.chroma_y == facts.chroma_y;
    if (same) return twin.av;
  }
  return AV_PIX_FMT_RGB24;
}

std::optional<StoredFormat> stored_format(AVPixelFormat format) noexcept {
  if (const auto direct = direct_format(format))
    return StoredFormat{direct->format, direct->full_range, false};
  const AVPixFmtDescriptor* facts = av_pix_fmt_desc_get(format);
  if (!facts || !(facts->flags & AV_PIX_FMT_FLAG_BE)) return std::nullopt;
  const auto direct = direct_format(av_pix_fmt_swap_endianness(format));
  return direct ? std::optional(StoredFormat{direct->format, false, true}) : std::nullopt;
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
  case ColorMatrix::ycgco:
    return AVCOL_SPC_YCGCO;
  case ColorMatrix::bt2020c:
    return AVCOL_SPC_BT2020_CL;
  case ColorMatrix::unspecified:
    break;
  }
  const int code = unnamed_code(matrix);
  const bool known = code > 0 && av_color_space_name(static_cast<AVColorSpace>(code)) != nullptr;
  return known ? static_cast<AVColorSpace>(code) : AVCOL_SPC_UNSPECIFIED;
}

ColorMatrix matrix_without_name(const ColorCodes& codes) noexcept {
  const ColorMatrix matrix = matrix_of_code(codes.matrix, codes.primaries);
  const bool known = matrix != ColorMatrix::unspecified; // Of code points that an enum can hold.
  return known && !av_color_space_name(static_cast<AVColorSpace>(codes.matrix)) ? matrix
                                                                                : ColorMatrix::unspecified;
}

namespace {

ColorInfo color_info(int space, int range, int siting, int primaries, int transfer) noexcept {
  ColorInfo color;
  color.matrix = matrix_of_code(space, primaries); // FFmpeg's numbers are H.273's.
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
