#include "tasks/heads/scores.h"

#include <cstring>

#include "tasks/declare/task_check.h"

namespace lanner::tasks {

ScoreRule score_rule(const HeadRun& run, std::int64_t channels, bool every) {
  const int background = run.task.background.value_or(static_cast<int>(channels) - 1);
  check(channels > 0, ErrorCode::invalid_argument, "task: the scores are of {} classes", channels);
  check_class_count(run.task, named_classes(channels, background, *run.task.first_class));
  return {*run.task.activation, background, *run.task.first_class, every, run.threshold};
}

void fail_not_finite(std::int64_t row) {
  fail(ErrorCode::bad_data,
       "task: row {} of the scores has a number that is not finite; is the declared preprocessing right?",
       row);
}

std::int32_t class_number(float value, std::int64_t row) {
  check(value >= 0 && value <= static_cast<float>(most_classes), ErrorCode::bad_data,
        "task: row {} has the class {}, expected a number of 0 or more", row, value);
  return static_cast<std::int32_t>(std::lround(value));
}

// Compilers do not vectorise a loop that searches for a maximum, so vectors are written out.
RowBest best_of_row(const float* values, std::int64_t count) {
  using Four = float __attribute__((vector_size(16)));
  constexpr std::int64_t together = 8;
  float most = values[0], poison = 0;
  std::int64_t i = 0;
  if (count >= together) {
    const auto four = [&](std::int64_t at) {
      Four result;
      std::memcpy(&result, values + at, sizeof result);
      return result;
    };
    Four best[2] = {four(0), four(4)}, sums[2] = {};
    for (; i + together <= count; i += together)
      for (int half = 0; half < 2; ++half) {
        const Four these = four(i + half * 4);
        best[half] = these > best[half] ? these : best[half];
        sums[half] += these * 0;
      }
    for (int half = 0; half < 2; ++half)
      for (int queue = 0; queue < 4; ++queue) {
        most = best[half][queue] > most ? best[half][queue] : most;
        poison += sums[half][queue];
      }
  }
  for (; i < count; ++i) {
    most = values[i] > most ? values[i] : most;
    poison += values[i] * 0;
  }
  return {most, poison};
}

void softmax_row(const float* values, std::int64_t count, float most, float* into) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += into[i] = std::exp(values[i] - most);
  for (std::int64_t i = 0; i < count; ++i) into[i] /= sum;
}

} // namespace lanner::tasks
