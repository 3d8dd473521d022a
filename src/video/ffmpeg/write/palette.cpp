#include "video/ffmpeg/write/palette.h"

#include <algorithm>

#include "base/check.h"

namespace lanner::ffmpeg {

namespace {

constexpr int dither[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};

/// One of the two steps of `steps` + 1 around the sample, by the threshold of 16.
int level(std::byte sample, int steps, int threshold) {
  const int value = std::to_integer<int>(sample) * steps * 16 + 255 * threshold;
  return std::min(steps, value / (255 * 16));
}

} // namespace

FramePtr to_palette(const Image& image) {
  FramePtr frame = make_frame();
  frame->format = AV_PIX_FMT_RGB8;
  frame->width = image.width;
  frame->height = image.height;
  check(av_frame_get_buffer(frame.get(), 0) >= 0, ErrorCode::out_of_memory,
        "encode: memory was refused by the system");
  for (std::int32_t y = 0; y < image.height; ++y) {
    const std::byte* from = image.planes[0].data + y * image.planes[0].pitch;
    std::uint8_t* to = frame->data[0] + std::int64_t{y} * frame->linesize[0];
    for (std::int32_t x = 0; x < image.width; ++x, from += 3) {
      const int threshold = dither[y % 4][x % 4];
      to[x] = static_cast<std::uint8_t>(level(from[0], 7, threshold) << 5 |
                                        level(from[1], 7, threshold) << 2 | level(from[2], 3, threshold));
    }
  }
  return frame;
}

} // namespace lanner::ffmpeg
