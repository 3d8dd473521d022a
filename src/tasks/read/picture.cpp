// Reads outputs that are images.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "tasks/cuda/maps.h"
#include "tasks/read/planes.h"

namespace lanner::tasks {
namespace {

using Four = float __attribute__((vector_size(16)));
using FourNumbers = std::int32_t __attribute__((vector_size(16)));

/// std::lround() of numbers clamped to 0 to 255: halves are rounded up.
FourNumbers nearest_bytes(Four values) {
  constexpr Four least{}, most{255, 255, 255, 255}, half{0.5f, 0.5f, 0.5f, 0.5f};
  values = values < least ? least : values;
  values = values > most ? most : values;
  const FourNumbers whole = __builtin_convertvector(values, FourNumbers);
  return whole - (values - __builtin_convertvector(whole, Four) >= half); // True is -1 in a vector.
}

/// The part of the output that shows the picture, without letterbox padding.
PixelRect picture_part(const PictureRun& run, const MapValues& map) {
  const Placement& placement = run.input.placement;
  const PixelRect region = run.spec.region.whole() ? PixelRect{0, 0, run.width, run.height} : run.spec.region;
  const auto from = placement.to_target(region.x, region.y);
  const auto to = placement.to_target(region.x + region.width, region.y + region.height);
  const auto range = [](double a, double b, std::int64_t input, std::int64_t output) {
    const double scale = static_cast<double>(output) / static_cast<double>(input);
    const double low = std::clamp(std::round(std::min(a, b) * scale), 0.0, static_cast<double>(output));
    const double high = std::clamp(std::round(std::max(a, b) * scale), 0.0, static_cast<double>(output));
    return std::pair{static_cast<std::int32_t>(low), static_cast<std::int32_t>(high - low)};
  };
  const auto [x, width] = range(from[0], to[0], run.input.width, map.width);
  const auto [y, height] = range(from[1], to[1], run.input.height, map.height);
  check(width > 0 && height > 0, ErrorCode::invalid_argument,
        "task image: the output of {} x {} has no pixel of the picture", map.width, map.height);
  return {x, y, width, height};
}

/// Bytes of numbers.
void convert(const MapValues& map, const PicturePart& wanted, Image& image) {
  const PixelRect& part = wanted.part;
  const std::int64_t count = (part.width - 1) * map.column + 1;
  const auto four = [](float value) { return Four{value, value, value, value}; };
  const Four black = four(wanted.black), scale = four(wanted.scale);
  std::vector<float> row(static_cast<std::size_t>(count));
  for (std::int32_t y = 0; y < part.height; ++y) {
    check_deadline();
    auto* const to = reinterpret_cast<std::uint8_t*>(image.planes[0].data + y * image.planes[0].pitch);
    for (std::int64_t c = 0; c < 3; ++c) {
      const std::int64_t source = map.channels == 1 ? 0 : wanted.bgr ? 2 - c : c;
      const std::int64_t from = source * map.channel + (part.y + y) * map.row + part.x * map.column;
      const float* const values = map.values.run(from, count, row.data());
      std::int64_t x = 0;
      for (; map.column == 1 && x + 4 <= part.width; x += 4) {
        Four numbers;
        std::memcpy(&numbers, values + x, sizeof numbers);
        const FourNumbers bytes = nearest_bytes((numbers - black) * scale);
        for (int i = 0; i < 4; ++i) to[(x + i) * 3 + c] = static_cast<std::uint8_t>(bytes[i]);
      }
      for (; x < part.width; ++x) {
        const FourNumbers bytes = nearest_bytes((four(values[x * map.column]) - black) * scale);
        to[x * 3 + c] = static_cast<std::uint8_t>(bytes[0]);
      }
    }
  }
}

} // namespace

void read_image(const PictureRun& run, TaskResult& result) {
  check(run.task.range.has_value(), ErrorCode::invalid_argument,
        "task image: range is not known; give the values of black and white");
  const MapValues map = map_values(run, "image", 0);
  check(map.channels == 1 || map.channels == 3, ErrorCode::invalid_argument,
        "task image: the output has {} channels, expected 1 or 3", map.channels);
  limited_product("pixels", run.limits.pixels, static_cast<std::uint64_t>(map.width),
                  static_cast<std::uint64_t>(map.height), "task image: output");
  const PixelRect part = picture_part(run, map);
  Image image = Image::allocate(PixelFormat::rgb24, part.width, part.height, run.limits);
  const float black = (*run.task.range)[0], scale = 255 / ((*run.task.range)[1] - black);
  if (map.values.remote())
    cuda::picture_there(map, {part, *run.task.bgr, black, scale}, image);
  else
    convert(map, {part, *run.task.bgr, black, scale}, image);
  result.image = rotated_image(image, -run.spec.quarter_turns);
}

} // namespace lanner::tasks
