#include "video/ffmpeg/frame.h"

#include <climits>
#include <new>
#include <utility>

#include "base/check.h"
#include "image/planes.h"
#include "video/ffmpeg/pixel_format.h"
#include "video/ffmpeg/unpack.h"

extern "C" {
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace lanner::ffmpeg {

namespace {

Image describe_planes(PixelFormat format, const AVFrame& frame) {
  Image image;
  image.format = format;
  image.width = frame.width;
  image.height = frame.height;
  image.color = color_of(frame);
  shape_planes(image, 1); // The frame's own pitches follow.
  return image;
}

bool usable_as_it_is(const AVFrame& frame, const DirectFormat& direct) {
  for (int p = 0; p < plane_count(direct.format); ++p)
    if (!frame.data[p] || frame.linesize[p] <= 0) return false;
  return frame.buf[0] != nullptr;
}

struct ScalerFree {
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

// swscale between two formats of one size; matrix and range stay those of the frame.
void scale_into(const AVFrame& frame, Image& image) {
  const auto from = static_cast<AVPixelFormat>(frame.format);
  const std::unique_ptr<SwsContext, ScalerFree> scaler(
      sws_getContext(frame.width, frame.height, from, frame.width, frame.height, to_av(image.format),
                     SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_BITEXACT,
                     nullptr, nullptr, nullptr));
  const char* name = av_get_pix_fmt_name(from);
  check(scaler != nullptr, ErrorCode::unsupported,
        "decode: pixel format {} cannot be read here, and swscale does not turn it into {}; convert the clip "
        "with ffmpeg -i clip -pix_fmt yuv420p first",
        name ? name : "unknown", to_string(image.format));
  const int* coefficients = sws_getCoefficients(code_of(frame.colorspace));
  const int full = code_of(frame.color_range) == AVCOL_RANGE_JPEG;
  sws_setColorspaceDetails(scaler.get(), coefficients, full, coefficients, full, 0, 1 << 16, 1 << 16);
  std::uint8_t* data[4] = {};
  int pitch[4] = {};
  for (int p = 0; p < plane_count(image.format); ++p) {
    data[p] = reinterpret_cast<std::uint8_t*>(plane_at(image, p).data);
    pitch[p] = static_cast<int>(plane_at(image, p).pitch);
  }
  const int rows = sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, data, pitch);
  check(rows == frame.height, ErrorCode::internal, "decode: swscale gave {} of {} rows", rows, frame.height);
}

} // namespace

Image to_image(FramePtr frame, const Limits& limits) {
  const auto format = static_cast<AVPixelFormat>(frame->format);
  const auto direct = direct_format(format);
  if (!direct || !usable_as_it_is(*frame, *direct)) {
    const char* name = av_get_pix_fmt_name(format);
    check(name != nullptr, ErrorCode::unsupported,
          "decode: FFmpeg gave pixel format {}, which it cannot name", frame->format);
    Image image = Image::allocate(nearest_format(format), frame->width, frame->height, limits);
    image.color = color_of(*frame);
    if (!format_info(image.format).yuv) image.color.range = ColorRange::full;
    if (can_unpack(format))
      unpack(*frame, image);
    else
      scale_into(*frame, image);
    return image;
  }
  Image image = describe_planes(direct->format, *frame);
  for (int p = 0; p < plane_count(direct->format); ++p) {
    plane_at(image, p).data = reinterpret_cast<std::byte*>(frame->data[p]);
    plane_at(image, p).pitch = frame->linesize[p];
  }
  image.owner = std::shared_ptr<const void>(frame.release(), [](AVFrame* owned) { av_frame_free(&owned); });
  return image;
}

namespace {

void release_owner(void* owner, std::uint8_t*) {
  delete static_cast<std::shared_ptr<const void>*>(owner);
}

} // namespace

namespace {

/// A copy whose samples of two bytes have the other order.
Image swapped_bytes(const Image& image) {
  Image result = Image::allocate(image.format, image.width, image.height);
  for (int p = 0; p < plane_count(image.format); ++p) {
    const Plane &from = plane_at(image, p), &to = plane_at(result, p);
    const std::int64_t samples = plane_row_bytes(image, p) / 2;
    for (std::int32_t y = 0; y < from.height; ++y) {
      const auto* in = reinterpret_cast<const std::uint16_t*>(from.data + y * from.pitch);
      auto* out = reinterpret_cast<std::uint16_t*>(to.data + y * to.pitch);
      for (std::int64_t i = 0; i < samples; ++i) out[i] = static_cast<std::uint16_t>(in[i] << 8 | in[i] >> 8);
    }
  }
  return result;
}

} // namespace

FramePtr to_av(const Image& given, AVPixelFormat format) {
  const auto stored = stored_format(format);
  const bool padded = format == AV_PIX_FMT_BGR0 && given.format == PixelFormat::bgra32; // Without alpha.
  check(padded || (stored && stored->format == given.format), ErrorCode::internal,
        "encode: image of format {} given as {}", to_string(given.format), static_cast<int>(format));
  const Image image = !padded && stored->swapped ? swapped_bytes(given) : given;
  FramePtr frame = make_frame();
  frame->format = format;
  frame->width = image.width;
  frame->height = image.height;
  for (int p = 0; p < plane_count(image.format); ++p) {
    const Plane& plane = plane_at(image, p);
    check(plane.pitch <= INT_MAX, ErrorCode::limit_exceeded, "encode: pitch of {} bytes", plane.pitch);
    frame->data[p] = reinterpret_cast<std::uint8_t*>(plane.data);
    frame->linesize[p] = static_cast<int>(plane.pitch);
  }
  auto owner = std::make_unique<std::shared_ptr<const void>>(image.owner);
  frame->buf[0] = av_buffer_create(frame->data[0], 1, release_owner, owner.get(), AV_BUFFER_FLAG_READONLY);
  if (!frame->buf[0]) throw std::bad_alloc();
  static_cast<void>(owner.release()); // The buffer's now.
  return frame;
}

const std::int32_t* display_matrix(const AVFrame& frame) {
  const AVFrameSideData* side = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
  return side && side->size >= 36 ? reinterpret_cast<const std::int32_t*>(side->data) : nullptr;
}

} // namespace lanner::ffmpeg
