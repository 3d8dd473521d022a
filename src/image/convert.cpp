#include <lanner/image.h>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "image/convert_plan.h"
#include "image/cuda/gpu_convert.h"
#include "image/planes.h"

namespace lanner {

namespace {

// The colour loops have set alpha to opaque.
void keep_alpha(const ConvertJob& job) {
  const Alpha alpha = alpha_of(job.from);
  if (!alpha.plane.data || format_info(job.to.format).samples[0] != 4) return;
  const Plane& to = job.to.planes[0];
  for (std::int64_t y = 0; y < job.to.height; ++y) {
    const std::byte* in = alpha.plane.data + y * alpha.plane.pitch;
    std::byte* out = to.data + y * to.pitch + 3;
    for (std::int64_t x = 0; x < job.to.width; ++x) out[4 * x] = static_cast<std::byte>(alpha.at(in, x));
  }
}

} // namespace

void convert_image(const Image& from, Image& to, Stream stream, int threads) {
  check(from.defined() && to.defined() && from.width == to.width && from.height == to.height,
        ErrorCode::invalid_argument, "convert: {}x{} into {}x{}, expected two images of one size", from.width,
        from.height, to.width, to.height);
  check(from.device == to.device, ErrorCode::unsupported,
        "convert: from {} to {}, expected two images on the host or on one GPU; copy_image() moves them",
        from.device.to_string(), to.device.to_string());
  const ConvertJob job{from, to, resolved(from.color, from.format, from.height),
                       resolved(to.color, to.format, to.height), threads};
  if (from.format == to.format && (job.from_color == job.to_color || !format_info(from.format).yuv)) {
    const ColorInfo kept = to.color;
    copy_image(from, to, stream);
    to.color = kept;
    return;
  }
  if (!from.device.is_host()) {
    const cuda::Queueing queueing(stream.handle ? Device{} : from.device);
    convert_on_gpu(job, stream);
    if (!stream.handle) synchronize(from.device);
    return;
  }
  if (!convert_planes(job) && !convert_ycc_to_rgb8(job) && !convert_rgb8_to_ycc8(job)) convert_any(job);
  keep_alpha(job);
}

} // namespace lanner
