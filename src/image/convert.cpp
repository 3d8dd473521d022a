#include <lanner/image.h>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "image/constant_luminance.h"
#include "image/convert_plan.h"
#include "image/cuda/gpu_convert.h"
#include "image/matrix_codes.h"
#include "image/planes.h"
#include "image/ycgco_r.h"

namespace lanner {

namespace {

template<typename From, typename To>
void copy_alpha(const Alpha& from, const Alpha& to, std::int64_t width, std::int64_t height) {
  for (std::int64_t y = 0; y < height; ++y) {
    auto* out = reinterpret_cast<To*>(to.plane.data + y * to.plane.pitch);
    if (!from.plane.data) {
      for (std::int64_t x = 0; x < width; ++x) out[x * to.step] = static_cast<To>(to.top);
      continue;
    }
    const auto* in = reinterpret_cast<const From*>(from.plane.data + y * from.plane.pitch);
    for (std::int64_t x = 0; x < width; ++x)
      out[x * to.step] =
          static_cast<To>((std::uint64_t{in[x * from.step]} * to.top + from.top / 2) / from.top);
  }
}

/// What a GPU's kernels do not know.
void check_on_gpu(const ConvertJob& job) {
  for (const PixelFormat format : {job.from.format, job.to.format})
    check(format_info(format).chroma_x < 2, ErrorCode::unsupported,
          "convert: {} is not converted on {}; copy the frame to the host first", to_string(format),
          job.to.device.to_string());
  const PixelFormatInfo& facts = format_info(job.to.format);
  check(!facts.has_alpha() || (facts.samples[0] == 4 && facts.bits == 8), ErrorCode::unsupported,
        "convert: {} is not made on {}; expected rgba32 or bgra32, or copy the frame to the host first",
        facts.name, job.to.device.to_string());
}

} // namespace

void copy_alpha(const Image& from, Image& to) {
  if (!format_info(to.format).has_alpha()) return;
  const Alpha in = alpha_of(from), out = alpha_of(to);
  check(out.plane.data != nullptr, ErrorCode::invalid_argument,
        "convert: {} without its plane of opacity; Image::allocate() gives it one", to_string(to.format));
  if (in.bytes == 1)
    out.bytes == 1 ? copy_alpha<std::uint8_t, std::uint8_t>(in, out, to.width, to.height)
                   : copy_alpha<std::uint8_t, std::uint16_t>(in, out, to.width, to.height);
  else
    out.bytes == 1 ? copy_alpha<std::uint16_t, std::uint8_t>(in, out, to.width, to.height)
                   : copy_alpha<std::uint16_t, std::uint16_t>(in, out, to.width, to.height);
}

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
  const bool same_samples = same_structure(job);
  check(same_samples || !has_constant_luminance(to), ErrorCode::unsupported,
        "convert: {} to BT.2020's constant luminance: no image is converted to it; expected bt2020",
        to_string(from.format));
  const bool both_yuv = format_info(from.format).yuv && format_info(to.format).yuv;
  if (!both_yuv || job.from_color.matrix != job.to_color.matrix) {
    if (const std::optional<Image> rgb = without_ycgco_r(from))
      return convert_image(*rgb, to, stream, threads);
    check_convertible("convert", from.format, from.color);
    check_convertible("convert", to.format, to.color);
  }
  if (!same_samples && has_constant_luminance(from))
    return convert_image(without_constant_luminance(from, threads), to, stream, threads);
  if (!from.device.is_host()) {
    check_on_gpu(job);
    const cuda::Queueing queueing(stream.handle ? Device{} : from.device);
    convert_on_gpu(job, stream);
    if (!stream.handle) synchronize(from.device);
    return;
  }
  if (convert_ycc_to_rgb8(job)) {
    const bool opaque = !format_info(from.format).has_alpha() && format_info(to.format).alpha_inside();
    if (opaque) return; // Its pixels of four bytes are written so.
  } else if (!convert_planes(job) && !convert_rgb8_to_ycc8(job)) {
    convert_any(job);
  }
  copy_alpha(from, to);
}

} // namespace lanner
