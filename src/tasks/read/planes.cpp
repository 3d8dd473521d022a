#include "tasks/read/planes.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits/account.h"
#include "tasks/heads/scores.h"
#include "tasks/read/maps.h"

namespace lanner::tasks {
namespace {

void check_finite(const Values& values, std::string_view part) {
  constexpr std::int64_t block = 1 << 14;
  std::vector<float> buffer(static_cast<std::size_t>(std::min(block, values.size())));
  for (std::int64_t from = 0; from < values.size(); from += block) {
    check_deadline();
    const std::int64_t count = std::min(block, values.size() - from);
    const RowBest best = best_of_row(values.run(from, count, buffer.data()), count);
    if (!(best.poison == 0)) fail_not_finite(part);
  }
}

} // namespace

void fail_not_finite(std::string_view part) {
  fail(ErrorCode::bad_data,
       "task: output {} has values that are not finite; is the declared preprocessing right?", part);
}

MapValues map_values(const PictureRun& run, std::string_view part, std::int64_t counted) {
  MapValues map;
  map.values = batched_values(run.outputs, run.task.outputs.at(std::string(part)), part, run.element);
  const Shape& shape = map.values.shape();
  check(shape.rank() == 2 || shape.rank() == 3, ErrorCode::invalid_argument,
        "task {}: the output of one picture is {}, expected [C, h, w], [h, w, C] or [h, w]",
        to_string(*run.task.kind), shape.to_string());
  if (shape.rank() == 2) {
    map.channels = 1;
    map.height = shape[0];
    map.width = shape[1];
    map.row = map.width;
    map.column = map.channel = 1;
  } else {
    const auto last =
        channels_last(shape.dims(), run.task.channels_last, counted, run.input.width, run.input.height);
    check(last.has_value(), ErrorCode::invalid_argument,
          "task {}: the channels of {} may be the first or the last dim; give channels_last",
          to_string(*run.task.kind), shape.to_string());
    map.channels = shape[*last ? 2 : 0];
    map.height = shape[*last ? 0 : 1];
    map.width = shape[*last ? 1 : 2];
    map.channel = *last ? 1 : map.height * map.width;
    map.column = *last ? map.channels : 1;
    map.row = map.width * map.column;
  }
  check(map.channels > 0 && map.height > 0 && map.width > 0 && map.height <= INT32_MAX &&
            map.width <= INT32_MAX,
        ErrorCode::invalid_argument, "task {}: the output of one picture is {}, which is empty",
        to_string(*run.task.kind), shape.to_string());
  map.part = part;
  if (!map.values.remote()) check_finite(map.values, part);
  return map;
}

} // namespace lanner::tasks
