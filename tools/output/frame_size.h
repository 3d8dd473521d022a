#pragma once
// The size that decoded frames are written in.

#include <cstdint>
#include <string>

#include <lanner/image.h>

namespace lanner::tool {

/// 0 is the side that follows the other one by the picture's aspect ratio.
struct FrameSize {
  std::int32_t width = 0, height = 0;
};
/// `320x180`, `320x` or `x180`. Throws Error{invalid_argument}.
FrameSize parse_frame_size(const std::string& text);

/// The picture in that size, resized as Pillow and torchvision do, by way of R'G'B' of its depth; alpha
/// becomes opaque. Throws Error{invalid_argument, limit_exceeded}.
Image scaled_image(const Image& image, FrameSize size, PixelFormat format);
/// The format of its PNG or JPEG.
PixelFormat picture_format(const Image& image);

} // namespace lanner::tool
