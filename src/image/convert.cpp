#include <lanner/image.h>

#include "base/check.h"
#include "device/memory.h"
#include "image/convert_plan.h"
#include "image/cuda/gpu_convert.h"

namespace lanner {

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
    convert_on_gpu(job, stream);
    if (!stream.handle) synchronize(from.device);
    return;
  }
  if (convert_planes(job) || convert_ycc_to_rgb8(job) || convert_rgb8_to_ycc8(job)) return;
  convert_any(job);
}

} // namespace lanner
