#pragma once
// Images on other devices.

#include <lanner/image.h>

namespace lanner::test {

inline Image copied_to(Device device, const Image& image) {
  Image there = Image::allocate(image.format, image.width, image.height, {}, device);
  copy_image(image, there);
  return there;
}

} // namespace lanner::test
