#include "video/ffmpeg/webp/webp_animation.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "video/ffmpeg/frame.h"

namespace lanner::ffmpeg {

namespace {

constexpr std::ptrdiff_t pixel_bytes = 4;
constexpr int alpha_at = 3;
constexpr unsigned opaque = 255;

std::uint8_t* pixel_at(const AVFrame& canvas, int x, int y) {
  return canvas.data[0] + std::ptrdiff_t{canvas.linesize[0]} * y + x * pixel_bytes;
}

void copy_pixels(std::uint8_t* to, const std::uint8_t* from, int count) {
  std::memcpy(to, from, static_cast<std::size_t>(count * pixel_bytes));
}

void clear(const AVFrame& canvas, const WebpFrame& place) {
  for (int y = 0; y < place.height; ++y)
    std::memset(pixel_at(canvas, place.x, place.y + y), 0,
                static_cast<std::size_t>(place.width * pixel_bytes));
}

/// RFC 9649, 2.7.1.1, as libwebp rounds it (BlendPixelNonPremult).
void blend_pixel(std::uint8_t* to, const std::uint8_t* from) {
  const unsigned above = from[alpha_at], below = to[alpha_at] * (opaque + 1 - above) >> 8;
  if (above == opaque) return copy_pixels(to, from, 1);
  if (above == 0) return;
  const unsigned scale = (1u << 24) / (above + below);
  for (int c = 0; c < alpha_at; ++c)
    to[c] = static_cast<std::uint8_t>((from[c] * above + to[c] * below) * scale >> 24);
  to[alpha_at] = static_cast<std::uint8_t>(above + below);
}

/// Its matrix and range are fixed (RFC 9649, 2.5), its chroma lies between luma.
Image in_rgba(FramePtr picture, const Limits& limits) {
  Image image = to_image(std::move(picture), limits);
  if (image.format == PixelFormat::rgba32) return image;
  if (image.color.matrix == ColorMatrix::unspecified) image.color.matrix = ColorMatrix::bt601;
  if (image.color.range == ColorRange::unspecified) image.color.range = ColorRange::limited;
  if (image.color.siting == ChromaSiting::unspecified) image.color.siting = ChromaSiting::center;
  Image rgba = Image::allocate(PixelFormat::rgba32, image.width, image.height, limits);
  convert_image(image, rgba);
  return rgba;
}

} // namespace

WebpAnimation::WebpAnimation(const WebpCanvas& canvas, const Limits& limits)
    : size_(canvas), limits_(limits) {
  limited_product("pixels", limits.pixels, static_cast<std::uint64_t>(canvas.width),
                  static_cast<std::uint64_t>(canvas.height), "pixels of a picture");
}

std::vector<std::byte> WebpAnimation::picture(const Packet& packet, std::int64_t mark) {
  if (!sent_.empty() && sent_.back().mark == mark) sent_.pop_back();
  sent_.push_back({mark, false, {}});
  const WebpFrame frame = webp_frame(packet.bytes, size_);
  std::vector<std::byte> file = still_webp(packet.bytes, frame);
  sent_.back() = {mark, packet.key, frame};
  return file;
}

/// Frames of packets before it that have none are lost.
WebpAnimation::Sent WebpAnimation::take(std::int64_t mark) {
  Sent sent;
  while (!sent_.empty() && sent_.front().mark <= mark) {
    corrupt_ = corrupt_ || sent.mark > 0;
    sent = sent_.front();
    sent_.pop_front();
  }
  return sent;
}

bool WebpAnimation::draw(FramePtr& picture, std::int64_t mark, const FrameMemory& memory) {
  const Sent sent = take(mark);
  if (sent.mark != mark || picture->width != sent.frame.width || picture->height != sent.frame.height) {
    corrupt_ = true;
    return false;
  }
  key_ = sent.key;
  corrupt_ = !sent.key && (corrupt_ || !shown_);
  FramePtr canvas = canvas_for(sent, *picture, memory);
  paint(*canvas, sent, in_rgba(std::move(picture), limits_));
  shown_.reset(av_frame_clone(canvas.get()));
  if (!shown_) throw std::bad_alloc();
  last_ = sent.frame;
  picture = std::move(canvas);
  return true;
}

void WebpAnimation::forget() {
  sent_.clear();
  shown_ = nullptr;
  key_ = corrupt_ = false;
}

/// With what is left of the frames before.
FramePtr WebpAnimation::canvas_for(const Sent& sent, const AVFrame& picture, const FrameMemory& memory) {
  FramePtr canvas = make_frame();
  if (av_frame_copy_props(canvas.get(), &picture) < 0) throw std::bad_alloc();
  canvas->format = AV_PIX_FMT_RGBA;
  canvas->width = size_.width;
  canvas->height = size_.height;
  canvas->colorspace = AVCOL_SPC_RGB;
  canvas->color_range = AVCOL_RANGE_JPEG;
  canvas->chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  if (!memory.lend_packed(*canvas, static_cast<std::size_t>(size_.width * pixel_bytes)))
    throw std::bad_alloc();
  const bool kept = !sent.key && shown_;
  if (!kept) clear(*canvas, {.width = size_.width, .height = size_.height});
  for (int y = 0; kept && y < size_.height; ++y)
    copy_pixels(pixel_at(*canvas, 0, y), pixel_at(*shown_, 0, y), size_.width);
  if (kept && last_.clears) clear(*canvas, last_);
  return canvas;
}

/// Over what was cleared just now there is nothing to blend with.
void WebpAnimation::paint(AVFrame& canvas, const Sent& sent, const Image& picture) const {
  const WebpFrame& frame = sent.frame;
  const bool cleared = shown_ && last_.clears;
  for (int row = 0; row < frame.height; ++row) {
    const int y = frame.y + row;
    const auto* from =
        reinterpret_cast<const std::uint8_t*>(picture.planes[0].data + picture.planes[0].pitch * row);
    std::uint8_t* to = pixel_at(canvas, frame.x, y);
    if (!frame.blends || sent.key) {
      copy_pixels(to, from, frame.width);
      continue;
    }
    const bool in_cleared = cleared && y >= last_.y && y < last_.y + last_.height;
    for (int x = 0; x < frame.width; ++x, to += pixel_bytes, from += pixel_bytes) {
      const int column = frame.x + x;
      if (in_cleared && column >= last_.x && column < last_.x + last_.width)
        copy_pixels(to, from, 1);
      else
        blend_pixel(to, from);
    }
  }
}

} // namespace lanner::ffmpeg
