#include "tasks/files/run_lengths.h"

namespace lanner {

std::vector<std::uint32_t> run_lengths(const Mask& mask, std::int32_t width, std::int32_t height) {
  const PixelRect& place = mask.place;
  const auto* pixels = static_cast<const std::uint8_t*>(mask.inside.data());
  std::vector<std::uint32_t> counts;
  std::uint32_t run = 0;
  bool inside = false;
  const auto add = [&](bool next, std::int64_t pixels_of_it) {
    if (pixels_of_it == 0) return;
    if (next != inside) {
      counts.push_back(run);
      run = 0;
      inside = next;
    }
    run += static_cast<std::uint32_t>(pixels_of_it);
  };
  const bool empty = place.width == 0 || place.height == 0;
  const std::int64_t all = static_cast<std::int64_t>(width) * height;
  if (!empty) add(false, static_cast<std::int64_t>(place.x) * height);
  for (std::int32_t x = 0; !empty && x < place.width; ++x) {
    add(false, place.y);
    for (std::int32_t y = 0; y < place.height; ++y)
      add(pixels[static_cast<std::int64_t>(y) * place.width + x] != 0, 1);
    add(false, height - place.y - place.height);
  }
  add(false, empty ? all : static_cast<std::int64_t>(width - place.x - place.width) * height);
  if (run > 0) counts.push_back(run);
  return counts;
}

std::string packed_run_lengths(std::span<const std::uint32_t> counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t value = counts[i];
    if (i > 2) value -= counts[i - 2];
    for (bool more = true; more;) {
      std::int64_t group = value & 0x1f;
      value >>= 5;
      const bool negative = (group & 0x10) != 0;
      more = value != (negative ? -1 : 0);
      if (more) group |= 0x20;
      text += static_cast<char>('0' + group);
    }
  }
  return text;
}

} // namespace lanner
