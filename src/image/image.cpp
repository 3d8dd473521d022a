#include <lanner/image.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include <lanner/nearest.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "image/planes.h"

namespace lanner {

namespace {

using Samples = std::array<std::uint8_t, 3>;

constexpr PixelFormatInfo planar(std::string_view name, int bits, int chroma_x, int chroma_y, int shift = 0) {
  const auto u8 = [](int value) { return static_cast<std::uint8_t>(value); };
  return {name, 3, u8(bits > 8 ? 2 : 1), u8(bits), u8(shift), u8(chroma_x), u8(chroma_y), Samples{1, 1, 1},
          true};
}

constexpr PixelFormatInfo semi_planar(std::string_view name, int bits, int shift, int chroma_y) {
  const auto u8 = [](int value) { return static_cast<std::uint8_t>(value); };
  return {name, 2, u8(bits > 8 ? 2 : 1), u8(bits), u8(shift), 1, u8(chroma_y), Samples{1, 2, 0}, true};
}

// In the order of PixelFormat.
constexpr PixelFormatInfo formats[] = {
    {"gray8", 1, 1, 8, 0, 0, 0, Samples{1, 0, 0}, false},
    {"gray16", 1, 2, 16, 0, 0, 0, Samples{1, 0, 0}, false},
    {"rgb24", 1, 1, 8, 0, 0, 0, Samples{3, 0, 0}, false},
    {"bgr24", 1, 1, 8, 0, 0, 0, Samples{3, 0, 0}, false},
    {"rgba32", 1, 1, 8, 0, 0, 0, Samples{4, 0, 0}, false},
    {"bgra32", 1, 1, 8, 0, 0, 0, Samples{4, 0, 0}, false},
    {"rgb_planar", 3, 1, 8, 0, 0, 0, Samples{1, 1, 1}, false},
    {"bgr_planar", 3, 1, 8, 0, 0, 0, Samples{1, 1, 1}, false},
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
    {"rgb48", 1, 2, 16, 0, 0, 0, Samples{3, 0, 0}, false},
    semi_planar("p012", 12, 4, 1),
    semi_planar("p212", 12, 4, 0),
    planar("yuv444p10msb", 10, 0, 0, 6),
    planar("yuv444p12msb", 12, 0, 0, 4),
};

constexpr std::string_view matrix_names[] = {"unspecified", "bt601",     "bt709", "bt2020",
                                             "fcc",         "smpte240m", "rgb"};
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
  return matrix_names[static_cast<std::size_t>(matrix)];
}
std::string_view to_string(ColorRange range) noexcept {
  return range_names[static_cast<std::size_t>(range)];
}
std::string_view to_string(ChromaSiting siting) noexcept {
  return siting_names[static_cast<std::size_t>(siting)];
}

namespace {

/// FFmpeg's names where they differ: of formats that mean the range or the alpha plane, too, the samples.
constexpr std::pair<std::string_view, PixelFormat> ffmpeg_names[] = {
    {"gray", PixelFormat::gray8},           {"rgba", PixelFormat::rgba32},
    {"bgra", PixelFormat::bgra32},          {"gbrp", PixelFormat::rgb_planar},
    {"gbrap", PixelFormat::rgb_planar},     {"yuvj420p", PixelFormat::yuv420p},
    {"yuvj422p", PixelFormat::yuv422p},     {"yuvj444p", PixelFormat::yuv444p},
    {"yuva420p", PixelFormat::yuv420p},     {"yuva422p", PixelFormat::yuv422p},
    {"yuva444p", PixelFormat::yuv444p},     {"yuva420p10", PixelFormat::yuv420p10},
    {"yuva422p10", PixelFormat::yuv422p10}, {"yuva444p10", PixelFormat::yuv444p10},
    {"yuva422p12", PixelFormat::yuv422p12}, {"yuva444p12", PixelFormat::yuv444p12},
    {"yuva420p16", PixelFormat::yuv420p16}, {"yuva422p16", PixelFormat::yuv422p16},
    {"yuva444p16", PixelFormat::yuv444p16}};

std::optional<PixelFormat> format_by_ffmpeg(std::string_view name) {
  const bool little_endian = name.ends_with("le");
  if (little_endian) name.remove_suffix(2);
  for (const auto& [other, format] : ffmpeg_names)
    if (other == name) return format;
  for (std::size_t i = 0; little_endian && i < std::size(formats); ++i)
    if (formats[i].name == name && formats[i].bytes_per_sample == 2) return static_cast<PixelFormat>(i);
  return std::nullopt;
}

} // namespace

PixelFormat parse_pixel_format(std::string_view name) {
  if (const auto format = format_by_ffmpeg(name)) return *format;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < std::size(formats); ++i) {
    if (formats[i].name == name) return static_cast<PixelFormat>(i);
    known.emplace_back(formats[i].name);
  }
  fail(ErrorCode::invalid_argument, "pixel format '{}' is not known: expected one of {}{}", name,
       fmt::join(known, ", "), did_you_mean(name, known));
}

std::int64_t row_bytes(const Image& image, int plane) {
  const PixelFormatInfo& facts = format_info(image.format);
  return std::int64_t{image.planes[plane].width} * facts.samples[plane] * facts.bytes_per_sample;
}

void shape_planes(Image& image, std::int64_t alignment) {
  const PixelFormatInfo& facts = format_info(image.format);
  for (int p = 0; p < facts.planes; ++p) {
    Plane& plane = image.planes[p];
    const bool chroma = p > 0 && facts.yuv;
    plane.width = chroma ? subsampled(image.width, facts.chroma_x) : image.width;
    plane.height = chroma ? subsampled(image.height, facts.chroma_y) : image.height;
    plane.pitch = (row_bytes(image, p) + alignment - 1) / alignment * alignment;
  }
}

Image Image::allocate(PixelFormat format, std::int32_t width, std::int32_t height, const Limits& limits,
                      Device device) {
  check(width > 0 && height > 0, ErrorCode::invalid_argument, "image: size {}x{}, expected at least 1x1",
        width, height);
  limited_product("pixels", limits.pixels, static_cast<std::uint64_t>(width),
                  static_cast<std::uint64_t>(height), "pixels of an image");
  const PixelFormatInfo& facts = format_info(format);
  Image image;
  image.format = format;
  image.width = width;
  image.height = height;
  image.device = device;
  const std::int64_t alignment = device.is_host() ? 64 : 256;
  std::array<std::int64_t, 3> offsets{};
  std::int64_t bytes = 0;
  shape_planes(image, alignment);
  for (int p = 0; p < facts.planes; ++p) {
    offsets[p] = bytes;
    bytes += image.planes[p].pitch * image.planes[p].height;
  }
  bytes += alignment; // Codecs read and write whole vectors past the end of the last row.
  const std::shared_ptr<void> memory = allocate_memory(device, static_cast<std::uint64_t>(bytes));
  for (int p = 0; p < facts.planes; ++p)
    image.planes[p].data = static_cast<std::byte*>(memory.get()) + offsets[p];
  image.owner = memory;
  return image;
}

Alpha alpha_of(const Image& image) noexcept {
  const PixelFormatInfo& facts = format_info(image.format);
  Alpha alpha{image.alpha, facts.bytes_per_sample, 1, (1u << facts.bits) - 1};
  if (facts.samples[0] != 4) return alpha;
  alpha.plane = image.planes[0];
  alpha.plane.data += 3;
  alpha.step = 4;
  return alpha;
}

void allocate_alpha(Image& image) {
  const std::int64_t alignment = image.device.is_host() ? 64 : 256;
  const std::int64_t row = std::int64_t{image.width} * format_info(image.format).bytes_per_sample;
  image.alpha.width = image.width;
  image.alpha.height = image.height;
  image.alpha.pitch = (row + alignment - 1) / alignment * alignment;
  const std::shared_ptr<void> memory =
      allocate_memory(image.device, static_cast<std::uint64_t>(image.alpha.pitch * image.height + alignment));
  image.alpha.data = static_cast<std::byte*>(memory.get());
  image.owner = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
      image.owner, memory);
}

Image Image::from_tensor(const Tensor& tensor, PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  const Shape& shape = tensor.shape();
  check(facts.planes == 1 && facts.bytes_per_sample == 1, ErrorCode::invalid_argument,
        "image from tensor: format {}, expected gray8, rgb24, bgr24, rgba32 or bgra32", facts.name);
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
  for (int p = 0; p < format_info(from.format).planes; ++p)
    copy_rows({{to.planes[p].data, to.device}, to.planes[p].pitch},
              {{from.planes[p].data, from.device}, from.planes[p].pitch},
              static_cast<std::uint64_t>(row_bytes(from, p)),
              static_cast<std::uint64_t>(from.planes[p].height), stream);
  if (from.alpha.data) {
    if (!to.alpha.data) allocate_alpha(to);
    copy_rows({{to.alpha.data, to.device}, to.alpha.pitch},
              {{from.alpha.data, from.device}, from.alpha.pitch},
              static_cast<std::uint64_t>(from.width) * format_info(from.format).bytes_per_sample,
              static_cast<std::uint64_t>(from.height), stream);
  } else {
    to.alpha = {};
  }
  if (!stream.handle) synchronize(gpu);
  to.color = from.color;
}

} // namespace lanner
