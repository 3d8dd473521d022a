// A frame's samples as one tensor, without gaps between rows and planes.

#include <lanner/decoder.h>
#include <lanner/error.h>
#include <lanner/image.h>

#include "calls/check.h"
#include "video/packets.h"

namespace lanner::python {
namespace {

/// How the samples of an image lie behind each other.
struct Packing {
  std::array<std::int64_t, 4> pitch{}, offset{}; ///< In bytes.
  std::array<std::int32_t, 4> width{}, height{}; ///< In samples of a plane's own.
  std::size_t planes = 0;
  std::int64_t bytes = 0;
  bool padded = false; ///< Rows of luma end in a sample that is none of the picture's.
};

std::int32_t halved(std::int32_t size, int shift) {
  return (size + (1 << shift) - 1) >> shift;
}

Packing packing_of(const PixelFormatInfo& facts, std::int32_t width, std::int32_t height) {
  Packing packing;
  const bool semi_planar = facts.planes == 2;
  packing.planes = facts.planes + (facts.alpha_plane ? 1u : 0u);
  for (std::size_t i = 0; i < packing.planes; ++i) {
    const bool chroma = i > 0 && i < facts.planes;
    packing.width[i] = chroma ? halved(width, facts.chroma_x) : width;
    packing.height[i] = chroma ? halved(height, facts.chroma_y) : height;
    packing.pitch[i] = std::int64_t{packing.width[i]} * facts.samples[i] * facts.bytes_per_sample;
  }
  // Rows of both planes are of one length, so that they are one array.
  packing.padded = semi_planar && packing.pitch[0] != packing.pitch[1];
  if (semi_planar) packing.pitch[0] = packing.pitch[1];
  for (std::size_t i = 0; i < packing.planes; ++i) {
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
  if (facts.chroma_x == 0 && facts.chroma_y == 0)
    return Shape{static_cast<std::int64_t>(packing.planes), height, width};
  return Shape{packing.bytes / facts.bytes_per_sample};
}

/// An image whose planes lie in `tensor`.
Image image_in(const Tensor& tensor, PixelFormat format, std::int32_t width, std::int32_t height,
               const Packing& packing) {
  Image image;
  image.format = format;
  image.width = width, image.height = height;
  image.device = tensor.device();
  // The image may outlive the tensor's own view, and must not drop the memory that it lies in.
  image.owner = std::make_shared<const Tensor>(tensor);
  auto* first = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
  for (std::size_t i = 0; i < packing.planes; ++i)
    plane_at(image, static_cast<int>(i)) = {first + packing.offset[i], packing.pitch[i], packing.width[i],
                                            packing.height[i]};
  return image;
}

DType type_of(const PixelFormatInfo& facts) {
  return facts.bytes_per_sample == 2 ? DType::u16 : DType::u8;
}

Tensor contiguous(const Image& from, PixelFormat format) {
  check(from.defined(), ErrorCode::invalid_argument, "contiguous: there is no picture");
  const PixelFormatInfo& facts = format_info(format);
  const Packing packing = packing_of(facts, from.width, from.height);
  const Shape shape = shape_of(facts, packing);
  Tensor tensor = packing.padded ? Tensor::zeros(type_of(facts), shape).to(from.device)
                                 : Tensor::allocate(type_of(facts), shape, {}, from.device);
  Image to = image_in(tensor, format, from.width, from.height, packing);
  if (facts.yuv) to.color = from.color;
  if (format == from.format)
    copy_image(from, to);
  else
    convert_image(from, to);
  return tensor;
}

/// The member of `values` that has this name.
template<typename Value>
Value named(std::string_view option, const std::string& name, std::initializer_list<Value> values) {
  std::string known;
  for (const Value value : values) {
    if (to_string(value) == name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(value));
  }
  fail(ErrorCode::invalid_argument, "{}: '{}' is not one of {}", option, name, known);
}

ColorMatrix matrix_of(const std::string& name) {
  using enum ColorMatrix;
  return named("color_space", name, {unspecified, bt601, bt709, bt2020, fcc, smpte240m, rgb, ycgco, bt2020c});
}

ColorRange range_of(const std::string& name) {
  using enum ColorRange;
  return named("color_range", name, {unspecified, limited, full});
}

Image from_contiguous(nb::handle array, const std::string& format, std::int32_t width, std::int32_t height,
                      const std::string& color_space, const std::string& color_range) {
  const PixelFormat wanted = parse_pixel_format(format);
  const PixelFormatInfo& facts = format_info(wanted);
  constexpr std::int32_t most = 1 << 16; // Sizes of planes stay far below what 64 bits hold.
  check(width > 0 && height > 0 && width <= most && height <= most, ErrorCode::invalid_argument,
        "from_contiguous: a picture of {}x{}, expected sizes of 1 to {}", width, height, most);
  const Tensor tensor = to_tensor(array);
  const Packing packing = packing_of(facts, width, height);
  const bool fits = tensor.dtype() == type_of(facts) || tensor.dtype() == DType::u8;
  check(fits && tensor.layout().row_major() && static_cast<std::int64_t>(tensor.bytes()) == packing.bytes,
        ErrorCode::invalid_argument, "from_contiguous: {} of {}x{} takes {} bytes, got {} bytes of type {}",
        facts.name, width, height, packing.bytes, tensor.bytes(), to_string(tensor.dtype()));
  Image image = image_in(tensor, wanted, width, height, packing);
  image.color.matrix = matrix_of(color_space);
  image.color.range = range_of(color_range);
  return image;
}

constexpr const char* about_contiguous =
    "A copy of the samples as one tensor, without padding between rows and planes, as in files of raw video, "
    "on the same device: uint8, or uint16 for more than 8 bits. Its shape is [height, width, samples] for "
    "interleaved pixels, [planes, height, width] for planes of equal size, [height + chroma height, row] for "
    "nv12 and similar formats, whose luma rows have one sample more if the width is odd; else it has one "
    "dimension.\n\nformat: pixel format to convert to; None: its own";

PixelFormat wanted_of(const Image& image, const std::optional<std::string>& format) {
  return format ? parse_pixel_format(*format) : image.format;
}

} // namespace

void register_contiguous(nb::class_<Frame>& frame) {
  frame.def(
      "contiguous",
      [](const Frame& self, const std::optional<std::string>& format) {
        const PixelFormat wanted = wanted_of(self.image, format);
        const ReleasedGil released;
        if (self.stream.handle) wait_for(self.image.device, self.stream);
        return contiguous(self.image, wanted);
      },
      nb::arg("format") = nb::none(), about_contiguous);
}

void register_contiguous(nb::class_<Image>& image) {
  image
      .def(
          "contiguous",
          [](const Image& self, const std::optional<std::string>& format) {
            const PixelFormat wanted = wanted_of(self, format);
            const ReleasedGil released;
            return contiguous(self, wanted);
          },
          nb::arg("format") = nb::none(), about_contiguous)
      .def_static(
          "from_contiguous", &from_contiguous, nb::arg("array").none(), nb::arg("format"), nb::arg("width"),
          nb::arg("height"), nb::kw_only(), nb::arg("color_space") = "unspecified",
          nb::arg("color_range") = "unspecified",
          "An image of samples without padding between rows and planes, as in files of raw video and from "
          "contiguous(); the memory is shared.\n\narray: uint8, or for more than 8 bits uint16 or its bytes "
          "as uint8; any shape; on the host or a GPU\nformat: pixel format, such as "
          "nv12\nwidth: in pixels\nheight: in pixels\ncolor_space: matrix between YUV and RGB; unspecified: "
          "bt709 from 720 rows up, bt601 below\ncolor_range: full or limited; unspecified: limited");
}

} // namespace lanner::python
