#pragma once
// Size of written frames.

#include <cstdint>
#include <string>

#include <lanner/image.h>

namespace lanner::tool {

/// 0: this side follows from the other one by the picture's aspect ratio.
struct FrameSize {
  std::int32_t width = 0, height = 0;
};
/// `320x180`, `320x` or `x180`. Throws Error{invalid_argument}.
FrameSize parse_frame_size(const std::string& text);

/// The image in that size, resized as Pillow and torchvision do, through R'G'B' of its depth; alpha becomes
/// opaque. Throws Error{invalid_argument, limit_exceeded}.
Image scaled_image(const Image& image, FrameSize size, PixelFormat format);
/// Pixel format of its PNG or JPEG.
PixelFormat picture_format(const Image& image);

} // namespace lanner::tool
