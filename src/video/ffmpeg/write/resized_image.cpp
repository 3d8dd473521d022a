#include <memory>

#include "base/check.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libswscale/swscale.h>
}

namespace lanner::ffmpeg {

namespace {

struct ScalerFree {
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

struct Planes {
  std::uint8_t* data[4] = {};
  int pitch[4] = {};

  Planes(const Image& image, AVPixelFormat format) {
    const auto direct = direct_format(format);
    for (std::size_t p = 0; p < format_info(image.format).planes; ++p) {
      data[direct->planes[p]] = reinterpret_cast<std::uint8_t*>(image.planes[p].data);
      pitch[direct->planes[p]] = static_cast<int>(image.planes[p].pitch);
    }
  }
};

/// One that swscale has, too.
PixelFormat scalable(PixelFormat format) {
  if (to_av(format) != AV_PIX_FMT_NONE && sws_isSupportedInput(to_av(format)) &&
      sws_isSupportedOutput(to_av(format)))
    return format;
  const PixelFormatInfo& facts = format_info(format);
  if (!facts.yuv) return PixelFormat::rgb24;
  return facts.bits <= 8 ? PixelFormat::yuv444p : PixelFormat::yuv444p16;
}

} // namespace

Image resized_image(const Image& image, std::int32_t width, std::int32_t height) {
  const PixelFormat format = scalable(image.format);
  if (format != image.format) {
    Image converted = Image::allocate(format, image.width, image.height);
    converted.color = image.color;
    convert_image(image, converted);
    Image resized = resized_image(converted, width, height),
          result = Image::allocate(image.format, width, height);
    result.color = image.color;
    convert_image(resized, result);
    return result;
  }
  const AVPixelFormat av = to_av(format);
  const int quality = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
  const std::unique_ptr<SwsContext, ScalerFree> scaler(
      sws_getContext(image.width, image.height, av, width, height, av, quality, nullptr, nullptr, nullptr));
  check(scaler != nullptr, ErrorCode::unsupported, "swscale does not bring {} of {}x{} to {}x{}",
        to_string(format), image.width, image.height, width, height);
  Image result = Image::allocate(format, width, height);
  result.color = image.color;
  const Planes from(image, av), to(result, av);
  const int rows = sws_scale(scaler.get(), from.data, from.pitch, 0, image.height, to.data, to.pitch);
  check(rows == height, ErrorCode::internal, "swscale gave {} of {} rows", rows, height);
  return result;
}

} // namespace lanner::ffmpeg
