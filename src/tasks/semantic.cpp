// A class for each pixel, and a distance.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/account.h"
#include "base/check.h"
#include "tasks/heads/head.h"
#include "tasks/planes.h"
#include "tasks/task_check.h"

namespace lanner::tasks {
namespace {

constexpr std::int32_t unseen = -1; ///< Of pixels that the network did not see.

PixelGrid grid_of(const PictureRun& run, const MapValues& map) {
  return {run.place.placement,
          {0, 0, run.width, run.height},
          {0, 0, static_cast<double>(run.place.width), static_cast<double>(run.place.height)},
          run.place.width,
          run.place.height,
          map.width,
          map.height};
}

/// Whether the output is classes' numbers, not their scores.
bool is_class_map(const PictureRun& run) {
  const auto found = run.outputs.find(run.task.outputs.at("classes"));
  return found != run.outputs.end() && is_integer(found->second.dtype());
}

/// The class of each place of the map.
std::vector<std::int32_t> best_classes(const MapValues& map) {
  std::vector<std::int32_t> best(static_cast<std::size_t>(map.height * map.width));
  std::vector<float> most(static_cast<std::size_t>(map.width)),
      buffer(static_cast<std::size_t>(std::max(map.width, map.channels)));
  for (std::int64_t y = 0; y < map.height; ++y) {
    check_deadline();
    std::int32_t* const row = best.data() + y * map.width;
    if (map.channel == 1) { // Channels side by side.
      for (std::int64_t x = 0; x < map.width; ++x) {
        const float* scores = map.values.run(y * map.row + x * map.column, map.channels, buffer.data());
        row[x] = static_cast<std::int32_t>(std::max_element(scores, scores + map.channels) - scores);
      }
      continue;
    }
    std::ranges::fill(most, -std::numeric_limits<float>::infinity());
    for (std::int64_t c = 0; c < map.channels; ++c) {
      const float* scores = map.values.run(c * map.channel + y * map.row, map.width, buffer.data());
      for (std::int64_t x = 0; x < map.width; ++x)
        if (scores[x] > most[static_cast<std::size_t>(x)]) {
          most[static_cast<std::size_t>(x)] = scores[x];
          row[x] = static_cast<std::int32_t>(c);
        }
    }
  }
  return best;
}

/// The score of a channel between four places.
float blended(const MapValues& map, std::int64_t channel, const Tap& across, const Tap& down) {
  const auto at = [&](std::int32_t x, std::int32_t y) {
    return map.values[channel * map.channel + y * map.row + x * map.column];
  };
  const auto row = [&](std::int32_t y) {
    const float low = at(across.low, y), high = at(across.high, y);
    return low + across.share * (high - low);
  };
  const float top = row(down.low), bottom = row(down.high);
  return top + down.share * (bottom - top);
}

/// Scores are blended, then the best is taken; where all four places have one best class it is that.
std::int32_t best_between(const MapValues& map, const std::vector<std::int32_t>& best, const Tap& across,
                          const Tap& down) {
  const auto at = [&](std::int32_t x, std::int32_t y) {
    return best[static_cast<std::size_t>(y * map.width + x)];
  };
  const std::int32_t first = at(across.low, down.low);
  if (first == at(across.high, down.low) && first == at(across.low, down.high) &&
      first == at(across.high, down.high))
    return first;
  std::int32_t chosen = 0;
  float most = -std::numeric_limits<float>::infinity();
  for (std::int64_t c = 0; c < map.channels; ++c) {
    const float score = blended(map, c, across, down);
    if (score > most) {
      most = score;
      chosen = static_cast<std::int32_t>(c);
    }
  }
  return chosen;
}

/// Calls `value(across, down)` for each pixel that the network saw; the others are `otherwise`.
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

/// The nearer of a tap's places.
std::int32_t nearest(const Tap& tap) {
  return tap.share >= 0.5f ? tap.high : tap.low;
}

void read_class_map(const PictureRun& run, const MapValues& map, TaskResult& result) {
  check(map.channels == 1, ErrorCode::invalid_argument,
        "task semantic: a map of classes has {} channels, expected 1", map.channels);
  result.classes = each_pixel(run, grid_of(run, map), unseen, [&](const Tap& across, const Tap& down) {
    const float number = map.values[nearest(down) * map.row + nearest(across) * map.column];
    check(number >= 0 && number <= static_cast<float>(most_classes), ErrorCode::bad_data,
          "task semantic: a pixel has the class {}, expected a number from 0 up", number);
    return static_cast<std::int32_t>(number);
  });
}

} // namespace

void read_semantic(const PictureRun& run, TaskResult& result) {
  const auto labels = static_cast<std::int64_t>(run.task.labels.size());
  const bool numbers = is_class_map(run);
  const MapValues map = map_values(run, "classes", numbers ? 1 : labels);
  if (numbers) return read_class_map(run, map, result);
  check_class_count(run.task, map.channels == 1 ? 2 : map.channels);
  const PixelGrid grid = grid_of(run, map);
  if (map.channels == 1) {
    check(run.task.activation && run.task.activation != Activation::softmax, ErrorCode::invalid_argument,
          "task semantic: of one channel it must be known what its numbers are; give activation: sigmoid for "
          "logits, none for probabilities");
    const float even = run.task.activation == Activation::sigmoid ? 0.f : 0.5f;
    result.classes = each_pixel(run, grid, unseen, [&](const Tap& across, const Tap& down) {
      return blended(map, 0, across, down) > even ? 1 : 0;
    });
    return;
  }
  const std::vector<std::int32_t> best = best_classes(map);
  result.classes = each_pixel(run, grid, unseen, [&](const Tap& across, const Tap& down) {
    return best_between(map, best, across, down);
  });
}

void read_depth(const PictureRun& run, TaskResult& result) {
  const MapValues map = map_values(run, "depth", 1);
  check(map.channels == 1, ErrorCode::invalid_argument,
        "task depth: a picture's output has {} channels, expected 1", map.channels);
  result.depth =
      each_pixel(run, grid_of(run, map), std::numeric_limits<float>::quiet_NaN(),
                 [&](const Tap& across, const Tap& down) { return blended(map, 0, across, down); });
}

} // namespace lanner::tasks
