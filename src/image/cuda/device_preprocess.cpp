#include "image/cuda/device_preprocess.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "image/color.h"
#include "image/constant_luminance.h"
#include "image/matrix_codes.h"

namespace lanner {

namespace {

DeviceAxis device_axis(const SampledAxis& axis) {
  constexpr double point = 4294967296.0;
  DeviceAxis device{};
  device.size = static_cast<std::int32_t>(axis.size);
  device.inputs = static_cast<std::int32_t>(axis.inputs);
  device.mirrored = axis.mirrored;
  device.step = std::llround(axis.step * point);
  device.origin = std::llround(axis.origin * point);
  return device;
}

} // namespace

std::int32_t device_number(DType type) {
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

DeviceComponent device_component(const Image& image, int component) {
  const PixelFormatInfo& facts = format_info(image.format);
  const ComponentLayout layout = component_layout(image.format, component);
  const Plane& plane = image.planes[static_cast<std::size_t>(layout.plane)];
  return {reinterpret_cast<unsigned char*>(plane.data),
          plane.pitch,
          layout.first,
          layout.step,
          facts.bytes_per_sample,
          facts.yuv && component > 0};
}

void set_taps(DeviceAxis& axis, const Taps& taps, const std::int32_t* index, const float* weights) {
  axis.index = index;
  axis.weights = weights;
  axis.count = taps.count;
}

DevicePreprocess device_preprocess(const PreprocessPlan& plan, void* out) {
  check_convertible("preprocess", plan.source.format, plan.source.color);
  check(
      !has_constant_luminance(plan.source), ErrorCode::unsupported,
      "preprocess: BT.2020's constant luminance on a GPU, which is converted on the host alone; convert the "
      "image to rgb48 there first");
  DevicePreprocess p{};
  for (int c = 0; c < 3; ++c) {
    p.components[c] = device_component(plan.source, c);
    for (int i = 0; i < 3; ++i) p.matrix[c][i] = plan.to_rgb.m[c][i];
    p.bias[c] = plan.to_rgb.b[c];
    p.scale[c] = plan.scale[c];
    p.offset[c] = plan.bias[c];
  }
  p.luma_x = device_axis(plan.axes.luma_x), p.luma_y = device_axis(plan.axes.luma_y);
  p.chroma_x = device_axis(plan.axes.chroma_x), p.chroma_y = device_axis(plan.axes.chroma_y);
  const PreprocessTarget& target = plan.target;
  p.pad = std::clamp(plan.spec.pad_value, 0.f, 255.f);
  p.width = static_cast<std::int32_t>(target.width), p.height = static_cast<std::int32_t>(target.height);
  p.x = static_cast<std::int32_t>(target.x), p.y = static_cast<std::int32_t>(target.y);
  p.columns = static_cast<std::int32_t>(target.columns), p.rows = static_cast<std::int32_t>(target.rows);
  p.swapped = plan.swaps_axes();
  p.bgr = plan.spec.bgr && !plan.spec.gray;
  p.gray = plan.spec.gray;
  p.channels_last = plan.spec.channels_last;
  p.dtype = device_number(plan.spec.dtype);
  const std::int64_t row = target.width * 3 * static_cast<std::int64_t>(bit_width(plan.spec.dtype) / 8);
  p.words = row % 4 == 0 && reinterpret_cast<std::uintptr_t>(out) % 4 == 0;
  p.out = out;
  return p;
}

} // namespace lanner
