// Classes of a picture.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <lanner/error.h>

#include "check.h"
#include "task.h"

namespace lanner::tool {
namespace {

constexpr double distribution_tolerance = 2e-3; ///< Of sums of half floats.

bool is_distribution(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) {
    if (!(value >= 0 && value <= 1 + distribution_tolerance)) return false;
    sum += value;
  }
  return std::abs(sum - 1) <= distribution_tolerance;
}

std::vector<double> softmax(const std::vector<float>& values) {
  const float highest = *std::ranges::max_element(values);
  std::vector<double> result;
  for (const float value : values) result.push_back(std::exp(static_cast<double>(value) - highest));
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& value : result) value /= sum;
  return result;
}

} // namespace

std::vector<Answer> classify(const Task& task, const Tensor& scores) {
  const std::vector<float> values = to_floats(scores);
  check(!values.empty(), ErrorCode::invalid_argument, "task classify: output {} is empty", task.scores);
  check(std::ranges::all_of(values, [](float value) { return std::isfinite(value); }), ErrorCode::bad_data,
        "task classify: output {} holds values that are not finite; was preprocessing declared rightly?",
        task.scores);
  check(task.labels.empty() || task.labels.size() == values.size(), ErrorCode::invalid_argument,
        "labels: {} were given, the model has {} classes", task.labels.size(), values.size());
  const std::vector<double> shares =
      is_distribution(values) ? std::vector<double>(values.begin(), values.end()) : softmax(values);
  std::vector<std::int64_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto most = std::min<std::ptrdiff_t>(task.top, static_cast<std::ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), order.begin() + most, order.end(), [&](std::int64_t a, std::int64_t b) {
    const double left = shares[static_cast<std::size_t>(a)], right = shares[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  });
  std::vector<Answer> answers;
  for (std::ptrdiff_t i = 0; i < most; ++i)
    answers.push_back({task.label(order[static_cast<std::size_t>(i)]),
                       order[static_cast<std::size_t>(i)],
                       shares[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])],
                       {}});
  return answers;
}

} // namespace lanner::tool
