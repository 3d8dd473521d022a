#include <lanner/image.h>

#include "fuzz/targets.h"

namespace lanner::fuzz {

/// An image file.
void read_picture(std::span<const std::byte> input) {
  Limits limits = small_limits();
  limits.pixels = 1 << 20;
  decode_image(input, limits, "picture");
}

} // namespace lanner::fuzz
