#include "image/cuda/device_convert.h"

#include <cmath>

#include "image/planes.h"

namespace lanner {

namespace {

ConvertImage convert_image(const Image& image, const ColorInfo& color) {
  const PixelFormatInfo& facts = format_info(image.format);
  ConvertImage device{};
  for (int c = 0; c < 3; ++c) {
    const ComponentLayout layout = component_layout(image.format, c);
    const Plane& plane = image.planes[static_cast<std::size_t>(layout.plane)];
    device.components[c] = {reinterpret_cast<unsigned char*>(plane.data),
                            plane.pitch,
                            layout.first,
                            layout.step,
                            plane.width,
                            plane.height};
  }
  const ChromaOffset offset = chroma_offset(image.format, color.siting);
  device.bytes = facts.bytes_per_sample;
  device.chroma_x = facts.chroma_x, device.chroma_y = facts.chroma_y;
  device.siting_x = static_cast<std::int32_t>(2 * offset.x);
  device.siting_y = static_cast<std::int32_t>(2 * offset.y);
  return device;
}

} // namespace

DeviceConvert device_convert(const ConvertJob& job) {
  const PixelFormatInfo& facts = format_info(job.to.format);
  DeviceConvert p{};
  p.from = convert_image(job.from, job.from_color);
  p.to = convert_image(job.to, job.to_color);
  const RowMatrix rule = row_matrix(code_matrix(job));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) p.matrix[i][j] = rule.m[i][j];
    p.bias[i] = rule.b[i];
  }
  p.top = static_cast<float>((1 << facts.bits) - 1);
  p.unit = 1 << facts.shift;
  p.width = job.to.width, p.height = job.to.height;
  p.same_chroma = same_structure(job);
  p.parts = is_gray(job.to.format) ? 1 : 3;
  const Alpha alpha = alpha_of(job.from);
  p.alpha = {reinterpret_cast<unsigned char*>(alpha.plane.data),
             alpha.plane.pitch,
             0,
             alpha.step,
             job.from.width,
             job.from.height};
  p.alpha_bytes = alpha.bytes;
  p.alpha_top = alpha.top;
  if (facts.planes > 1 || p.parts == 1) return p;
  p.pixel = facts.samples[0] * facts.bytes_per_sample;
  const Plane& plane = job.to.planes[0];
  p.words = plane.pitch % 4 == 0 && reinterpret_cast<std::uintptr_t>(plane.data) % 4 == 0;
  return p;
}

} // namespace lanner
