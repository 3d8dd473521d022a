#include "video/frame_finish.h"

#include "video/image_pool.h"

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

FrameFinish finish_by(const VideoReaderOptions& options) {
  if (options.preprocess)
    return [spec = *options.preprocess, stream = options.decoder.stream](Frame& frame) {
      frame.tensor = to_tensor(frame.image, spec, {.threads = 1, .stream = stream});
      frame.image = {};
    };
  if (options.format)
    return [options, pool = std::make_shared<ImagePool>()](Frame& frame) {
      convert_image(frame, *options.format, options, *pool);
    };
  return {};
}

std::uint64_t frame_bytes(const Frame& frame) {
  std::uint64_t bytes = frame.tensor.defined() ? frame.tensor.bytes() : 0;
  for (const Plane& plane : frame.image.planes)
    if (plane.data)
      bytes += static_cast<std::uint64_t>(plane.pitch < 0 ? -plane.pitch : plane.pitch) *
               static_cast<std::uint64_t>(plane.height);
  for (const SeiMessage& message : frame.sei) bytes += message.bytes.size();
  return bytes;
}

} // namespace lanner
