#include <lanner/image.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "image/matrix_codes.h"
#include "image/planes.h"

namespace lanner {

namespace {

using Samples = std::array<std::uint8_t, 4>;

constexpr std::uint8_t u8(int value) {
  return static_cast<std::uint8_t>(value);
}

constexpr PixelFormatInfo interleaved(std::string_view name, int bits, int samples) {
  return {name, 1, u8(bits > 8 ? 2 : 1), u8(bits), 0, 0, 0, Samples{u8(samples)}, false};
}

constexpr PixelFormatInfo gray(std::string_view name, int bits) {
  return interleaved(name, bits, 1);
}

constexpr PixelFormatInfo rgb_planes(std::string_view name, int bits, bool alpha = false) {
  return {name, 3, u8(bits > 8 ? 2 : 1), u8(bits), 0, 0, 0, Samples{1, 1, 1, 1}, false, alpha};
}

constexpr PixelFormatInfo planar(std::string_view name, int bits, int chroma_x, int chroma_y, int shift = 0) {
  return {name, 3, u8(bits > 8 ? 2 : 1), u8(bits), u8(shift), u8(chroma_x), u8(chroma_y), Samples{1, 1, 1, 1},
          true};
}

constexpr PixelFormatInfo planar_alpha(std::string_view name, int bits, int chroma_x, int chroma_y) {
  PixelFormatInfo facts = planar(name, bits, chroma_x, chroma_y);
  facts.alpha_plane = true;
  return facts;
}

constexpr PixelFormatInfo semi_planar(std::string_view name, int bits, int shift, int chroma_y) {
  return {name, 2, u8(bits > 8 ? 2 : 1), u8(bits), u8(shift), 1, u8(chroma_y), Samples{1, 2}, true};
}

// In the order of PixelFormat.
constexpr PixelFormatInfo formats[] = {
    gray("gray8", 8),
    gray("gray16", 16),
    interleaved("rgb24", 8, 3),
    interleaved("bgr24", 8, 3),
    interleaved("rgba32", 8, 4),
    interleaved("bgra32", 8, 4),
    rgb_planes("rgb_planar", 8),
    rgb_planes("bgr_planar", 8),
    semi_planar("nv12", 8, 0, 1),
    semi_planar("p010", 10, 6, 1),
    semi_planar("p016", 16, 0, 1),
    semi_planar("nv16", 8, 0, 0),
    semi_planar("p210", 10, 6, 0),
    semi_planar("p216", 16, 0, 0),
    planar("yuv420p", 8, 1, 1),
    planar("yuv422p", 8, 1, 0),
    planar("yuv444p", 8, 0, 0),
    planar("yuv420p10", 10, 1, 1),
    planar("yuv422p10", 10, 1, 0),
    planar("yuv444p10", 10, 0, 0),
    planar("yuv420p12", 12, 1, 1),
    planar("yuv422p12", 12, 1, 0),
    planar("yuv444p12", 12, 0, 0),
    planar("yuv420p16", 16, 1, 1),
    planar("yuv422p16", 16, 1, 0),
    planar("yuv444p16", 16, 0, 0),
    interleaved("rgb48", 16, 3),
    semi_planar("p012", 12, 4, 1),
    semi_planar("p212", 12, 4, 0),
    planar("yuv444p10msb", 10, 0, 0, 6),
    planar("yuv444p12msb", 12, 0, 0, 4),
    gray("gray9", 9),
    gray("gray10", 10),
    gray("gray12", 12),
    gray("gray14", 14),
    interleaved("ya8", 8, 2),
    interleaved("ya16", 16, 2),
    interleaved("bgr48", 16, 3),
    interleaved("rgba64", 16, 4),
    interleaved("bgra64", 16, 4),
    rgb_planes("gbrp", 8),
    rgb_planes("gbrp9", 9),
    rgb_planes("gbrp10", 10),
    rgb_planes("gbrp12", 12),
    rgb_planes("gbrp14", 14),
    rgb_planes("gbrp16", 16),
    rgb_planes("gbrap", 8, true),
    rgb_planes("gbrap10", 10, true),
    rgb_planes("gbrap12", 12, true),
    rgb_planes("gbrap16", 16, true),
    planar("yuv410p", 8, 2, 2),
    planar("yuv411p", 8, 2, 0),
    planar("yuv440p", 8, 0, 1),
    planar("yuv440p10", 10, 0, 1),
    planar("yuv440p12", 12, 0, 1),
    planar("yuv420p9", 9, 1, 1),
    planar("yuv422p9", 9, 1, 0),
    planar("yuv444p9", 9, 0, 0),
    planar("yuv420p14", 14, 1, 1),
    planar("yuv422p14", 14, 1, 0),
    planar("yuv444p14", 14, 0, 0),
    planar_alpha("yuva420p", 8, 1, 1),
    planar_alpha("yuva422p", 8, 1, 0),
    planar_alpha("yuva444p", 8, 0, 0),
    planar_alpha("yuva420p9", 9, 1, 1),
    planar_alpha("yuva422p9", 9, 1, 0),
    planar_alpha("yuva444p9", 9, 0, 0),
    planar_alpha("yuva420p10", 10, 1, 1),
    planar_alpha("yuva422p10", 10, 1, 0),
    planar_alpha("yuva444p10", 10, 0, 0),
    planar_alpha("yuva422p12", 12, 1, 0),
    planar_alpha("yuva444p12", 12, 0, 0),
    planar_alpha("yuva420p16", 16, 1, 1),
    planar_alpha("yuva422p16", 16, 1, 0),
    planar_alpha("yuva444p16", 16, 0, 0),
};
static_assert(std::size(formats) == pixel_format_count);

constexpr std::string_view matrix_names[] = {"unspecified", "bt601", "bt709", "bt2020", "fcc",
                                             "smpte240m",   "rgb",   "ycgco", "bt2020c"};
constexpr std::string_view range_names[] = {"unspecified", "limited", "full"};
constexpr std::string_view siting_names[] = {"unspecified", "left",        "center", "top_left",
                                             "top",         "bottom_left", "bottom"};

std::int32_t subsampled(std::int32_t size, int log2) {
  return static_cast<std::int32_t>((std::int64_t{size} + (1 << log2) - 1) >> log2);
}

} // namespace

const PixelFormatInfo& format_info(PixelFormat format) noexcept {
  return formats[static_cast<std::size_t>(format)];
}
std::string_view to_string(PixelFormat format) noexcept {
  return format_info(format).name;
}
std::string_view to_string(ColorMatrix matrix) noexcept {
  if (const int code = unnamed_code(matrix)) return unnamed_matrix_name(code);
  return matrix_names[static_cast<std::size_t>(matrix)];
}
std::string_view to_string(ColorRange range) noexcept {
  return range_names[static_cast<std::size_t>(range)];
}
std::string_view to_string(ChromaSiting siting) noexcept {
  return siting_names[static_cast<std::size_t>(siting)];
}

PixelFormat with_whole_chroma(PixelFormat format) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  PixelFormat found = facts.has_alpha() ? PixelFormat::yuva444p16 : PixelFormat::yuv444p16;
  for (int i = 0; i < pixel_format_count; ++i) {
    const PixelFormatInfo& one = formats[i];
    const bool fits = one.yuv && one.planes == 3 && one.chroma_x == 0 && one.chroma_y == 0 &&
                      one.shift == 0 && one.alpha_plane == facts.has_alpha() && one.bits >= facts.bits;
    if (fits && one.bits < format_info(found).bits) found = static_cast<PixelFormat>(i);
  }
  return found;
}

int plane_count(PixelFormat format) noexcept {
  return format_info(format).planes + (format_info(format).alpha_plane ? 1 : 0);
}

Plane& plane_at(Image& image, int index) noexcept {
  return index < format_info(image.format).planes ? image.planes[static_cast<std::size_t>(index)]
                                                  : image.alpha;
}

const Plane& plane_at(const Image& image, int index) noexcept {
  return plane_at(const_cast<Image&>(image), index);
}

std::int64_t plane_row_bytes(const Image& image, int index) noexcept {
  const PixelFormatInfo& facts = format_info(image.format);
  return std::int64_t{plane_at(image, index).width} * facts.samples[static_cast<std::size_t>(index)] *
         facts.bytes_per_sample;
}

void shape_planes(Image& image, std::int64_t alignment) {
  const PixelFormatInfo& facts = format_info(image.format);
  for (int p = 0; p < plane_count(image.format); ++p) {
    Plane& plane = plane_at(image, p);
    const bool chroma = p > 0 && p < facts.planes && facts.yuv;
    plane.width = chroma ? subsampled(image.width, facts.chroma_x) : image.width;
    plane.height = chroma ? subsampled(image.height, facts.chroma_y) : image.height;
    plane.pitch = (plane_row_bytes(image, p) + alignment - 1) / alignment * alignment;
  }
}

Image Image::allocate(PixelFormat format, std::int32_t width, std::int32_t height, const Limits& limits,
                      Device device) {
  check(width > 0 && height > 0, ErrorCode::invalid_argument, "image: size {}x{}, expected at least 1x1",
        width, height);
  limited_product("pixels", limits.pixels, static_cast<std::uint64_t>(width),
                  static_cast<std::uint64_t>(height), "pixels of an image");
  Image image;
  image.format = format;
  image.width = width;
  image.height = height;
  image.device = device;
  const std::int64_t alignment = device.is_host() ? 64 : 256;
  std::int64_t bytes = 0;
  shape_planes(image, alignment);
  for (int p = 0; p < plane_count(format); ++p) bytes += plane_at(image, p).pitch * plane_at(image, p).height;
  bytes += alignment; // Codecs read and write whole vectors past the end of the last row.
  const std::shared_ptr<void> memory = allocate_memory(device, static_cast<std::uint64_t>(bytes));
  auto* data = static_cast<std::byte*>(memory.get());
  for (int p = 0; p < plane_count(format); ++p) {
    Plane& plane = plane_at(image, p);
    plane.data = data;
    data += plane.pitch * plane.height;
  }
  image.owner = memory;
  return image;
}

Alpha alpha_of(const Image& image) noexcept {
  const PixelFormatInfo& facts = format_info(image.format);
  Alpha alpha{image.alpha, facts.bytes_per_sample, 1, (1u << facts.bits) - 1};
  if (!facts.alpha_inside()) return alpha;
  alpha.plane = image.planes[0];
  alpha.step = facts.samples[0];
  alpha.plane.data += static_cast<std::ptrdiff_t>(alpha.step - 1) * facts.bytes_per_sample;
  return alpha;
}

Image Image::from_tensor(const Tensor& tensor, PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  const Shape& shape = tensor.shape();
  check(facts.planes == 1 && facts.bytes_per_sample == 1, ErrorCode::invalid_argument,
        "image from tensor: format {}, expected gray8, ya8, rgb24, bgr24, rgba32 or bgra32", facts.name);
  const bool flat = shape.rank() == 2 && facts.samples[0] == 1;
  check(tensor.dtype() == DType::u8 && tensor.layout().row_major() && tensor.device().is_host() &&
            (flat || (shape.rank() == 3 && shape[2] == facts.samples[0])),
        ErrorCode::invalid_argument,
        "image from tensor: {} of shape {}, expected row-major u8 {} on the host", to_string(tensor.dtype()),
        shape.to_string(),
        facts.samples[0] == 1 ? std::string("[height, width] or [height, width, 1]")
                              : fmt::format("[height, width, {}]", facts.samples[0]));
  check(shape[0] > 0 && shape[1] > 0 && shape[0] <= INT32_MAX && shape[1] <= INT32_MAX,
        ErrorCode::invalid_argument, "image from tensor: shape {}, expected at least 1x1", shape.to_string());
  Image image;
  image.format = format;
  image.width = static_cast<std::int32_t>(shape[1]);
  image.height = static_cast<std::int32_t>(shape[0]);
  auto* data = static_cast<std::byte*>(const_cast<void*>(tensor.data()));
  image.planes[0] = {data, shape[1] * facts.samples[0], image.width, image.height};
  image.owner = tensor.owner();
  return image;
}

void copy_image(const Image& from, Image& to, Stream stream) {
  check(from.defined() && to.defined() && from.format == to.format && from.width == to.width &&
            from.height == to.height,
        ErrorCode::invalid_argument, "image copy: {} {}x{} into {} {}x{}, expected the same format and size",
        to_string(from.format), from.width, from.height, to_string(to.format), to.width, to.height);
  check(from.device.is_host() || to.device.is_host() || from.device == to.device, ErrorCode::unsupported,
        "image copy: from {} to {}, expected at most one GPU", from.device.to_string(),
        to.device.to_string());
  const Device gpu = from.device.is_host() ? to.device : from.device;
  const cuda::Queueing queueing(stream.handle ? Device{} : gpu);
  for (int p = 0; p < plane_count(from.format); ++p) {
    const Plane &source = plane_at(from, p), &target = plane_at(to, p);
    check(source.data && target.data, ErrorCode::invalid_argument,
          "image copy: {}: plane {} has no data; Image::allocate() gives every plane some",
          to_string(from.format), p);
    copy_rows({{target.data, to.device}, target.pitch}, {{source.data, from.device}, source.pitch},
              static_cast<std::uint64_t>(plane_row_bytes(from, p)), static_cast<std::uint64_t>(source.height),
              stream);
  }
  if (!stream.handle) synchronize(gpu);
  to.color = from.color;
}

} // namespace lanner
