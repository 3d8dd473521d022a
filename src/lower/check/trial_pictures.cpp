#include "lower/check/trial_pictures.h"

#include <algorithm>
#include <random>
#include <vector>

#include "image/bound_pictures.h"
#include "ops/picture/picture.h"

namespace lanner {
namespace {

Image drawn_picture(PixelFormat format, const Preprocess& spec, std::uint64_t seed) {
  constexpr std::int32_t most = 1920;
  const auto side = [most](std::int32_t size, std::int32_t shown) {
    return std::max(std::min(2 * size + 1, most), shown);
  };
  Image image = Image::allocate(format, side(spec.width, spec.region.x + spec.region.width),
                                side(spec.height, spec.region.y + spec.region.height));
  std::mt19937_64 generator(seed);
  const PixelFormatInfo& facts = format_info(format);
  for (std::size_t p = 0; p < facts.planes; ++p) {
    const Plane& plane = image.planes[p];
    const std::int64_t bytes = plane.pitch * plane.height;
    for (std::int64_t i = 0; i < bytes; ++i) {
      // Samples of two bytes stay within the format's bits.
      const auto value = static_cast<std::uint8_t>(generator() >> 56);
      const bool high = facts.bytes_per_sample == 2 && i % 2 == 1 && facts.shift == 0 && facts.bits < 16;
      plane.data[i] = std::byte(high ? value & ((1 << (facts.bits - 8)) - 1) : value);
    }
  }
  return image;
}

Image moved(const Image& image, Device device) {
  if (device.is_host()) return image;
  Image there = Image::allocate(image.format, image.width, image.height, {}, device);
  copy_image(image, there);
  return there;
}

} // namespace

Tensor drawn_pictures(const Node& picture, std::int64_t count, std::uint64_t seed, Device device) {
  const Preprocess spec = ops::preprocess_of(picture);
  const std::string format = ops::format_of(picture);
  const Image image = moved(
      drawn_picture(format.empty() ? PixelFormat::nv12 : parse_pixel_format(format), spec, seed), device);
  const std::vector<Image> images(static_cast<std::size_t>(count), image);
  PictureStaging staging;
  auto bound = std::make_shared<BoundPictures>(images, std::span(&spec, 1), device, staging);
  Tensor records = bound->records();
  void* memory = records.data();
  return Tensor::wrap(memory, records.dtype(), records.shape(), std::move(bound));
}

} // namespace lanner
