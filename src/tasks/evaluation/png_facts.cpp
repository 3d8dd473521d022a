#include "tasks/evaluation/png_facts.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lanner/image.h>

#include "base/check.h"

namespace lanner::tasks {
namespace {

constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
constexpr int gray_type = 0, palette_type = 3; ///< From PNG's IHDR.

/// The chunks before a PNG's pixels ("Portable Network Graphics Specification", 11.2).
struct PngFacts {
  bool png = false;
  int bits = 8, type = gray_type;
  std::vector<std::uint32_t> palette; ///< 0xRRGGBB.
};

class Bytes {
public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint32_t byte(std::size_t at) const { return std::to_integer<std::uint32_t>(bytes_[at]); }
  std::uint32_t word(std::size_t at) const {
    return byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
  }
  std::string_view text(std::size_t at, std::size_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }
  std::size_t size() const { return bytes_.size(); }

private:
  std::span<const std::byte> bytes_;
};

PngFacts facts_of(std::span<const std::byte> file) {
  const Bytes bytes(file);
  PngFacts facts;
  facts.png = bytes.size() > signature.size() && bytes.text(0, signature.size()) == signature;
  if (!facts.png) return facts;
  for (std::size_t at = signature.size(); at + 12 <= bytes.size();) {
    const std::uint32_t size = bytes.word(at);
    const std::string_view type = bytes.text(at + 4, 4);
    const std::size_t data = at + 8;
    if (type == "IDAT" || size > bytes.size() - data) break;
    if (type == "IHDR" && size >= 13) facts.bits = static_cast<int>(bytes.byte(data + 8));
    if (type == "IHDR" && size >= 13) facts.type = static_cast<int>(bytes.byte(data + 9));
    if (type == "PLTE")
      for (std::size_t i = 0; i + 3 <= size; i += 3)
        facts.palette.push_back(bytes.byte(data + i) << 16 | bytes.byte(data + i + 1) << 8 |
                                bytes.byte(data + i + 2));
    at = data + size + 4;
  }
  return facts;
}

Image in_format(const Image& image, PixelFormat format, const Limits& limits) {
  if (image.format == format) return image;
  Image result = Image::allocate(format, image.width, image.height, limits);
  result.color.range = ColorRange::full;
  convert_image(image, result);
  return result;
}

Tensor numbers_for(const Image& image, const Limits& limits) {
  return Tensor::allocate(DType::i32, {image.height, image.width}, {}, {}, limits);
}

template<typename Sample, typename Number>
Tensor read_samples(const Image& image, std::size_t samples, const Limits& limits, Number&& number) {
  Tensor numbers = numbers_for(image, limits);
  std::int32_t* into = numbers.as<std::int32_t>().data();
  for (std::int32_t y = 0; y < image.height; ++y) {
    const auto* row = reinterpret_cast<const Sample*>(image.planes[0].data + y * image.planes[0].pitch);
    for (std::int32_t x = 0; x < image.width; ++x)
      *into++ = number(row + static_cast<std::size_t>(x) * samples);
  }
  return numbers;
}

Tensor read_gray(const Image& image, const PngFacts& facts, const Limits& limits) {
  const PixelFormatInfo& form = format_info(image.format);
  if (form.gray() && form.bits == 16)
    return read_samples<std::uint16_t>(image, form.samples[0], limits,
                                       [](const std::uint16_t* value) { return std::int32_t{*value}; });
  if (image.format == PixelFormat::rgba32 && facts.bits == 8) // A gray value declared transparent.
    return read_samples<std::uint8_t>(image, 4, limits,
                                      [](const std::uint8_t* value) { return std::int32_t{*value}; });
  check(form.gray() && form.bits == 8, ErrorCode::bad_data, "is {}, expected gray", form.name);
  const int least = facts.bits < 8 ? 255 / ((1 << facts.bits) - 1) : 1; // Few bits are scaled to 0..255.
  return read_samples<std::uint8_t>(image, form.samples[0], limits,
                                    [&](const std::uint8_t* value) { return std::int32_t{*value} / least; });
}

Tensor read_palette(const Image& image, const PngFacts& facts, const Limits& limits) {
  constexpr std::int32_t twice = -2, none = -1;
  std::unordered_map<std::uint32_t, std::int32_t> numbers;
  for (std::size_t i = 0; i < facts.palette.size(); ++i) {
    const auto [entry, fresh] = numbers.emplace(facts.palette[i], static_cast<std::int32_t>(i));
    if (!fresh) entry->second = twice;
  }
  const Image rgb = in_format(image, PixelFormat::rgb24, limits);
  return read_samples<std::uint8_t>(rgb, 3, limits, [&](const std::uint8_t* pixel) {
    const std::uint32_t color = std::uint32_t{pixel[0]} << 16 | std::uint32_t{pixel[1]} << 8 | pixel[2];
    const auto found = numbers.find(color);
    const std::int32_t number = found == numbers.end() ? none : found->second;
    check(number >= 0, ErrorCode::bad_data,
          "the colour {:06x} of a pixel occurs {} in its palette; write the numbers of "
          "classes as a gray image",
          color, number == twice ? "twice" : "not");
    return number;
  });
}

} // namespace

Tensor read_class_numbers(std::span<const std::byte> file, const Limits& limits) {
  const PngFacts facts = facts_of(file);
  const Image image = decode_image(file, limits, "mask");
  if (facts.type == palette_type) return read_palette(image, facts, limits);
  const bool gray = facts.png ? facts.type == gray_type : format_info(image.format).gray();
  check(gray, ErrorCode::bad_data,
        "is an image in colours; expected numbers of classes: a gray image, or a PNG with a palette");
  return read_gray(image, facts, limits);
}

} // namespace lanner::tasks
