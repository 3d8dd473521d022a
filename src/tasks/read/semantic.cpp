// Reads a class or a distance for each pixel.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/limits/account.h"
#include "tasks/cuda/maps.h"
#include "tasks/declare/task_check.h"
#include "tasks/heads/head.h"
#include "tasks/read/class_lines.h"
#include "tasks/read/lines.h"

namespace lanner::tasks {
namespace {

constexpr std::int32_t unseen = -1; ///< For pixels that the network did not see.

PixelGrid grid_of(const PictureRun& run, const MapValues& map) {
  return {run.input.placement,
          {0, 0, run.width, run.height},
          {0, 0, static_cast<double>(run.input.width), static_cast<double>(run.input.height)},
          run.input.width,
          run.input.height,
          map.width,
          map.height};
}

/// Whether the output has class numbers instead of scores.
bool is_class_map(const PictureRun& run) {
  const auto found = run.outputs.find(run.task.outputs.at("classes"));
  return found != run.outputs.end() && is_integer(found->second.dtype());
}

/// Calls `value(across, down)` for each pixel that the network saw; sets the others to `otherwise`.
template<typename T, typename Value>
Tensor each_pixel(const PictureRun& run, const PixelGrid& grid, T otherwise, Value&& value) {
  Tensor result = Tensor::allocate(dtype_of<T>(), {run.height, run.width}, {}, {}, run.limits);
  T* to = result.as<T>().data();
  for (std::int32_t y = 0; y < run.height; ++y) {
    check_deadline();
    for (std::int32_t x = 0; x < run.width; ++x) {
      const Tap &across = grid.across(x, y), &down = grid.down(x, y);
      *to++ = across.inside && down.inside ? value(across, down) : otherwise;
    }
  }
  return result;
}

/// The nearer element of a tap.
std::int32_t nearest(const Tap& tap) {
  return tap.share >= 0.5f ? tap.high : tap.low;
}

void read_class_map(const PictureRun& run, const MapValues& map, TaskResult& result) {
  check(map.channels == 1, ErrorCode::invalid_argument,
        "task semantic: a map of classes has {} channels, expected 1", map.channels);
  result.classes = each_pixel(run, grid_of(run, map), unseen, [&](const Tap& across, const Tap& down) {
    const float number = map.values[nearest(down) * map.row + nearest(across) * map.column];
    check(number >= 0 && number <= static_cast<float>(most_classes), ErrorCode::bad_data,
          "task semantic: a pixel has the class {}, expected a number of 0 or more", number);
    return static_cast<std::int32_t>(number);
  });
}

/// Calls `write(number)` for each pixel that the network saw, with the interpolated value of a map of one
/// channel; sets the others to `otherwise`.
template<typename T, typename Write>
Tensor each_number(const PictureRun& run, const MapValues& map, T otherwise, Write&& write) {
  Tensor result = Tensor::allocate(dtype_of<T>(), {run.height, run.width}, {}, {}, run.limits);
  T* const to = result.as<T>().data();
  std::fill_n(to, std::int64_t{run.height} * run.width, otherwise);
  const PixelGrid pixels = grid_of(run, map);
  const LineGrid grid(pixels, {0, 0, run.width, run.height});
  std::vector<float> buffer(static_cast<std::size_t>((map.width - 1) * map.column + 1)),
      dense(static_cast<std::size_t>(map.width));
  const auto row = [&](std::int32_t y) -> const float* {
    const float* const from =
        map.values.run(y * map.row, static_cast<std::int64_t>(buffer.size()), buffer.data());
    if (map.column == 1) return from;
    for (std::int64_t x = 0; x < map.width; ++x) dense[static_cast<std::size_t>(x)] = from[x * map.column];
    return dense.data();
  };
  for_each_line(grid, row, [&](std::int64_t line, const RowPair& pair) {
    T* const first = to + line * grid.line_step;
    if (grid.position_step == 1) {
#pragma omp simd
      for (std::int64_t i = grid.first; i < grid.last; ++i) first[i] = write(pair.at(i));
    } else {
      for (std::int64_t i = grid.first; i < grid.last; ++i) first[i * grid.position_step] = write(pair.at(i));
    }
  });
  return result;
}

} // namespace

void read_semantic(const PictureRun& run, TaskResult& result) {
  const auto labels = static_cast<std::int64_t>(run.task.labels.size());
  const bool numbers = is_class_map(run);
  const MapValues map = map_values(run, "classes", numbers ? 1 : labels);
  if (numbers) return read_class_map(run, map, result);
  check_class_count(run.task, map.channels == 1 ? 2 : map.channels);
  check(map.channels > 1 || (run.task.activation && run.task.activation != Activation::softmax),
        ErrorCode::invalid_argument,
        "task semantic: one channel needs an activation; give activation: sigmoid for "
        "logits, none for probabilities");
  const float even = run.task.activation == Activation::sigmoid ? 0.f : 0.5f;
  if (map.values.remote()) {
    result.classes = cuda::classes_there(map, grid_of(run, map), run, even);
  } else if (map.channels == 1) {
    result.classes = each_number(run, map, unseen, [&](float number) { return number > even ? 1 : 0; });
  } else {
    result.classes = Tensor::allocate(DType::i32, {run.height, run.width}, {}, {}, run.limits);
    const auto classes = result.classes.as<std::int32_t>();
    std::ranges::fill(classes, unseen);
    read_best_classes(map, grid_of(run, map), run.width, run.height, run.limits, classes.data());
  }
}

void read_depth(const PictureRun& run, TaskResult& result) {
  const MapValues map = map_values(run, "depth", 1);
  check(map.channels == 1, ErrorCode::invalid_argument, "task depth: the output has {} channels, expected 1",
        map.channels);
  constexpr float nothing = std::numeric_limits<float>::quiet_NaN();
  result.depth = map.values.remote() ? cuda::numbers_there(map, grid_of(run, map), run, nothing)
                                     : each_number(run, map, nothing, [](float number) { return number; });
}

} // namespace lanner::tasks
