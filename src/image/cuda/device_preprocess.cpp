#include "image/cuda/device_preprocess.h"

#include <algorithm>

#include "image/color.h"

namespace lanner {

namespace {

DeviceTaps taps(const Taps& taps, std::int64_t inputs) {
  return {taps.index.data(), taps.weights.data(), static_cast<std::int32_t>(taps.size), taps.count,
          static_cast<std::int32_t>(inputs)};
}

std::int32_t number_of(DType type) {
  switch (type) {
  case DType::f32:
    return 0;
  case DType::f16:
    return 1;
  case DType::u8:
    return 2;
  default:
    return 3;
  }
}

} // namespace

DevicePreprocess device_preprocess(const PreprocessPlan& plan, void* out) {
  DevicePreprocess p{};
  const Image& image = plan.source;
  const PixelFormatInfo& facts = info(image.format);
  for (int c = 0; c < 3; ++c) {
    const ComponentPlace place = component_place(image.format, c);
    const Plane& plane = image.planes[static_cast<std::size_t>(place.plane)];
    p.components[c] = {reinterpret_cast<const unsigned char*>(plane.data),
                       plane.pitch,
                       place.first,
                       place.step,
                       facts.bytes_per_sample,
                       facts.yuv && c > 0};
    for (int i = 0; i < 3; ++i) p.matrix[c][i] = plan.to_rgb.m[c][i];
    p.bias[c] = plan.to_rgb.b[c];
    p.scale[c] = plan.scale[c];
    p.offset[c] = plan.bias[c];
  }
  p.luma_x = taps(plan.sampling.luma_x, image.width);
  p.luma_y = taps(plan.sampling.luma_y, image.height);
  if (facts.yuv) {
    p.chroma_x = taps(plan.sampling.chroma_x, image.planes[1].width);
    p.chroma_y = taps(plan.sampling.chroma_y, image.planes[1].height);
  }
  const PreprocessTarget& target = plan.target;
  p.pad = std::clamp(plan.spec.pad_value, 0.f, 255.f);
  p.width = static_cast<std::int32_t>(target.width), p.height = static_cast<std::int32_t>(target.height);
  p.x = static_cast<std::int32_t>(target.x), p.y = static_cast<std::int32_t>(target.y);
  p.columns = static_cast<std::int32_t>(target.columns), p.rows = static_cast<std::int32_t>(target.rows);
  p.turned = plan.turned();
  p.bgr = plan.spec.bgr && !plan.spec.gray;
  p.gray = plan.spec.gray;
  p.channels_last = plan.spec.channels_last;
  p.dtype = number_of(plan.spec.dtype);
  p.out = out;
  return p;
}

} // namespace lanner
