#include "output/frame_size.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include <lanner/error.h>
#include <lanner/preprocess.h>
#include <lanner/threads.h>

#include "check.h"
#include "options/limit_option.h"

namespace lanner::tool {
namespace {

constexpr std::int32_t longest_side = 65535;

/// 0 where not given.
std::optional<std::int32_t> side_of(std::string_view text) {
  if (text.empty()) return 0;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value > 0 && value <= longest_side ? std::optional(value) : std::nullopt;
}

std::int32_t other_side(std::int32_t side, std::int32_t of, std::int32_t other) {
  const double value = std::round(static_cast<double>(side) * other / of);
  check(value <= longest_side, ErrorCode::invalid_argument,
        "--size: a side of {} makes the other one {:.0f}, {} at most is possible; give both sides", side,
        value, longest_side);
  return std::max(1, static_cast<std::int32_t>(value));
}

FrameSize size_of(const Image& image, FrameSize size) {
  if (size.width == 0) size.width = other_side(size.height, image.height, image.width);
  if (size.height == 0) size.height = other_side(size.width, image.width, image.height);
  return size;
}

Image bytes_of(const Image& image, Preprocess spec) {
  spec.dtype = DType::u8;
  const Tensor tensor = to_tensor(image, spec, {default_threads(), {}});
  const Shape& shape = tensor.shape();
  const Tensor pixels = Tensor::wrap(const_cast<void*>(tensor.data()), DType::u8,
                                     Shape{shape[1], shape[2], shape[3]}, tensor.owner());
  return Image::from_tensor(pixels, PixelFormat::rgb24);
}

/// 16 bits a sample, so that no depth is lost.
Image words_of(const Image& image, Preprocess spec) {
  spec.dtype = DType::f32;
  spec.range = {0.f, 65535.f};
  const Tensor tensor = to_tensor(image, spec, {default_threads(), {}});
  Image words = Image::allocate(PixelFormat::rgb48, spec.width, spec.height, given_limits());
  const auto* from = static_cast<const float*>(tensor.data());
  const auto samples = static_cast<std::size_t>(spec.width) * 3;
  for (std::int32_t y = 0; y < spec.height; ++y, from += samples) {
    std::byte* row = words.planes[0].data + y * words.planes[0].pitch;
    for (std::size_t i = 0; i < samples; ++i) {
      const auto value = static_cast<std::uint16_t>(std::clamp(from[i], 0.f, 65535.f) + 0.5f);
      std::memcpy(row + i * sizeof(value), &value, sizeof(value));
    }
  }
  return words;
}

} // namespace

FrameSize parse_frame_size(const std::string& text) {
  const std::size_t cross = std::min(text.find('x'), text.size());
  const auto width = side_of(std::string_view(text).substr(0, cross));
  const auto height = side_of(cross < text.size() ? std::string_view(text).substr(cross + 1) : "");
  check(cross < text.size() && width && height && *width + *height > 0, ErrorCode::invalid_argument,
        "--size '{}': expected width and height from 1 to {} like 320x180, or one of them: 320x, x180", text,
        longest_side);
  return {*width, *height};
}

Image scaled_image(const Image& image, FrameSize asked, PixelFormat format) {
  const FrameSize size = size_of(image, asked);
  Image scaled = Image::allocate(format, size.width, size.height, given_limits());
  scaled.color = image.color;
  if (scaled.color.matrix == ColorMatrix::unspecified &&
      format_info(format).yuv) // The default for the unscaled image.
    scaled.color.matrix = image.height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  Preprocess spec;
  spec.width = size.width;
  spec.height = size.height;
  spec.channels_last = true;
  convert_image(format_info(format).bits > 8 ? words_of(image, spec) : bytes_of(image, spec), scaled, {},
                default_threads());
  return scaled;
}

PixelFormat picture_format(const Image& image) {
  return format_info(image.format).gray() ? PixelFormat::gray8 : PixelFormat::rgb24;
}

} // namespace lanner::tool
