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

  explicit Planes(const Image& image) {
    for (int p = 0; p < plane_count(image.format); ++p) {
      data[p] = reinterpret_cast<std::uint8_t*>(plane_at(image, p).data);
      pitch[p] = static_cast<int>(plane_at(image, p).pitch);
    }
  }
};

/// One that swscale has, too.
PixelFormat scalable(PixelFormat format) {
  if (to_av(format) != AV_PIX_FMT_NONE && sws_isSupportedInput(to_av(format)) &&
      sws_isSupportedOutput(to_av(format)))
    return format;
  const PixelFormatInfo& facts = format_info(format);
  const bool wide = facts.bits > 8;
  if (!facts.yuv && facts.has_alpha()) return wide ? PixelFormat::rgba64 : PixelFormat::rgba32;
  if (!facts.yuv) return wide ? PixelFormat::rgb48 : PixelFormat::rgb24;
  if (facts.has_alpha()) return wide ? PixelFormat::yuva444p16 : PixelFormat::yuva444p;
  return wide ? PixelFormat::yuv444p16 : PixelFormat::yuv444p;
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
  const Planes from(image), to(result);
  const int rows = sws_scale(scaler.get(), from.data, from.pitch, 0, image.height, to.data, to.pitch);
  check(rows == height, ErrorCode::internal, "swscale gave {} of {} rows", rows, height);
  return result;
}

} // namespace lanner::ffmpeg
