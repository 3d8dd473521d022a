// A frame's samples as one tensor, without gaps between rows and planes.

#include <lanner/decoder.h>
#include <lanner/error.h>

#include "calls/check.h"
#include "video/packets.h"

namespace lanner::python {
namespace {

/// How the samples of an image lie behind each other.
struct Packing {
  std::array<std::int64_t, 3> pitch{}, offset{}; ///< In bytes.
  std::array<std::int32_t, 3> width{}, height{}; ///< In samples of a plane's own.
  std::int64_t bytes = 0;
  bool padded = false; ///< Rows of luma end in a sample that is none of the picture's.
};

std::int32_t halved(std::int32_t size, int shift) {
  return (size + (1 << shift) - 1) >> shift;
}

Packing packing_of(const PixelFormatInfo& facts, std::int32_t width, std::int32_t height) {
  Packing packing;
  const bool semi_planar = facts.planes == 2;
  for (std::size_t i = 0; i < facts.planes; ++i) {
    const bool chroma = i > 0;
    packing.width[i] = chroma ? halved(width, facts.chroma_x) : width;
    packing.height[i] = chroma ? halved(height, facts.chroma_y) : height;
    packing.pitch[i] = std::int64_t{packing.width[i]} * facts.samples[i] * facts.bytes_per_sample;
  }
  // Rows of both planes are of one length, so that they are one array.
  packing.padded = semi_planar && packing.pitch[0] != packing.pitch[1];
  if (semi_planar) packing.pitch[0] = packing.pitch[1];
  for (std::size_t i = 0; i < facts.planes; ++i) {
    packing.offset[i] = packing.bytes;
    packing.bytes += packing.pitch[i] * packing.height[i];
  }
  return packing;
}

Shape shape_of(const PixelFormatInfo& facts, const Packing& packing) {
  const std::int64_t height = packing.height[0], width = packing.width[0];
  const std::int64_t row = packing.pitch[0] / facts.bytes_per_sample;
  if (facts.planes == 1 && facts.samples[0] == 1) return Shape{height, width};
  if (facts.planes == 1) return Shape{height, width, facts.samples[0]};
  if (facts.planes == 2) return Shape{height + packing.height[1], row};
  if (facts.chroma_x == 0 && facts.chroma_y == 0) return Shape{facts.planes, height, width};
  return Shape{packing.bytes / facts.bytes_per_sample};
}

Tensor contiguous(const Frame& frame, PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  const Image& from = frame.image;
  check(from.defined(), ErrorCode::invalid_argument, "contiguous: there is no picture");
  const Packing packing = packing_of(facts, from.width, from.height);
  const DType type = facts.bytes_per_sample == 2 ? DType::u16 : DType::u8;
  const Shape shape = shape_of(facts, packing);
  Tensor tensor = packing.padded ? Tensor::zeros(type, shape).to(from.device)
                                 : Tensor::allocate(type, shape, {}, from.device);
  Image to;
  to.format = format;
  to.width = from.width, to.height = from.height;
  to.device = from.device;
  if (facts.yuv) to.color = from.color;
  to.owner = tensor.owner();
  for (std::size_t i = 0; i < facts.planes; ++i)
    to.planes[i] = {static_cast<std::byte*>(tensor.data()) + packing.offset[i], packing.pitch[i],
                    packing.width[i], packing.height[i]};
  if (frame.stream.handle) wait_for(from.device, frame.stream);
  if (format == from.format)
    copy_image(from, to);
  else
    convert_image(from, to);
  return tensor;
}

} // namespace

void register_contiguous(nb::class_<Frame>& frame) {
  frame.def(
      "contiguous",
      [](const Frame& self, const std::optional<std::string>& format) {
        const PixelFormat wanted = format ? parse_pixel_format(*format) : self.image.format;
        const ReleasedGil released;
        return contiguous(self, wanted);
      },
      nb::arg("format") = nb::none(),
      "A copy of the samples as one tensor without gaps between rows and planes, as files of raw video have "
      "them, on the same device: uint8, or uint16 for more than 8 bits. Its shape is [height, width, samples] "
      "of interleaved pixels, [planes, height, width] of planes of one size, [height + chroma height, row] of "
      "nv12 and the like, whose luma rows have a sample more where the width is odd, else one "
      "dimension.\n\nformat: pixel format to convert to; None: the frame's own");
}

} // namespace lanner::python
