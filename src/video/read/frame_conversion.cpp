#include "video/read/frame_conversion.h"

#include <cmath>
#include <utility>

#include "video/read/image_pool.h"

namespace lanner {

namespace {

void convert_image(Frame& frame, PixelFormat format, const VideoReaderOptions& options, ImagePool& pool) {
  if (frame.image.format == format) return;
  Image converted =
      pool.take(format, frame.image.width, frame.image.height, options.decoder.limits, frame.image.device);
  convert_image(frame.image, converted, options.decoder.stream);
  frame.image = std::move(converted);
}

} // namespace

int quarter_turns(double rotation) noexcept {
  return static_cast<int>((std::lround(rotation / 90) % 4 + 4) % 4);
}

void rotate_upright(Frame& frame, Stream stream) {
  const int turns = quarter_turns(frame.rotation);
  if (turns == 0 && !frame.mirror) return;
  frame.image = rotated_image(frame.image, turns, stream, frame.mirror);
  if (turns % 2) std::swap(frame.sample_aspect.num, frame.sample_aspect.den);
  frame.rotation -= 90.0 * turns;
  frame.mirror = false;
}

FrameFinish finish_by(const VideoReaderOptions& options) {
  if (!options.rotate && !options.format && !options.preprocess) return {};
  return [options, pool = std::make_shared<ImagePool>()](Frame& frame) {
    const Stream stream = options.decoder.stream;
    if (options.rotate) rotate_upright(frame, stream);
    if (options.preprocess) frame.tensor = to_tensor(frame.image, *options.preprocess, {1, stream});
    if (options.format) convert_image(frame, *options.format, options, *pool);
  };
}

std::uint64_t frame_bytes(const Frame& frame) {
  std::uint64_t bytes = frame.tensor.defined() ? frame.tensor.bytes() : 0;
  for (int p = 0; p < plane_count(frame.image.format); ++p)
    if (const Plane& plane = plane_at(frame.image, p); plane.data)
      bytes += static_cast<std::uint64_t>(plane.pitch < 0 ? -plane.pitch : plane.pitch) *
               static_cast<std::uint64_t>(plane.height);
  for (const SeiMessage& message : frame.sei) bytes += message.bytes.size();
  return bytes;
}

} // namespace lanner
