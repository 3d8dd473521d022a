// Reads image classes and feature vectors.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "tasks/declare/names.h"
#include "tasks/heads/head.h"
#include "tasks/read/reader.h"

namespace lanner::tasks {
namespace {

constexpr double distribution_tolerance = 2e-3; ///< Rounding of sums of half floats.

/// All values for one picture. An output of one dim has no batch.
Values numbers_of(const PictureRun& run, std::string_view part) {
  const std::string& name = run.task.outputs.at(std::string(part));
  const auto found = run.outputs.find(name);
  const bool list = found != run.outputs.end() && found->second.rank() == 1;
  return list ? element_values(run.outputs, name, part, run.element, 1)
              : batched_values(run.outputs, name, part, run.element);
}

std::vector<float> finite_numbers(const Values& values, std::string_view kind) {
  std::vector<float> buffer(static_cast<std::size_t>(values.size()));
  const float* from = values.run(0, values.size(), buffer.data());
  std::vector<float> numbers(from, from + values.size());
  check(!numbers.empty(), ErrorCode::invalid_argument, "task {}: the output is empty", kind);
  check(std::ranges::all_of(numbers, [](float value) { return std::isfinite(value); }), ErrorCode::bad_data,
        "task {}: the output has values that are not finite; is the declared preprocessing right?", kind);
  return numbers;
}

bool is_distribution(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) {
    if (!(value >= 0 && value <= 1 + distribution_tolerance)) return false;
    sum += value;
  }
  return std::abs(sum - 1) <= distribution_tolerance;
}

std::vector<double> probabilities(const std::vector<float>& values, std::optional<Activation> activation) {
  std::vector<double> result(values.begin(), values.end());
  if (activation == Activation::none || (!activation && is_distribution(values))) return result;
  if (activation == Activation::sigmoid) {
    for (double& value : result) value = 1 / (1 + std::exp(-value));
    return result;
  }
  const double highest = *std::ranges::max_element(result);
  for (double& value : result) value = std::exp(value - highest);
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& value : result) value /= sum;
  return result;
}

} // namespace

void read_classes(const PictureRun& run, TaskResult& result) {
  const std::vector<float> values = finite_numbers(numbers_of(run, "scores"), "classify");
  check_class_count(run.task, static_cast<std::int64_t>(values.size()));
  const std::vector<double> shares = probabilities(values, run.task.activation);
  std::vector<std::int64_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto most = std::min<std::ptrdiff_t>(*run.task.top, static_cast<std::ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), order.begin() + most, order.end(), [&](std::int64_t a, std::int64_t b) {
    const double left = shares[static_cast<std::size_t>(a)], right = shares[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  });
  result.labels = Tensor::from<std::int64_t>(std::span(order).first(static_cast<std::size_t>(most)), {most});
  result.scores = Tensor::allocate(DType::f32, {most});
  for (std::ptrdiff_t i = 0; i < most; ++i)
    result.scores.as<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(shares[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
}

void read_embedding(const PictureRun& run, TaskResult& result) {
  const std::vector<float> values = finite_numbers(numbers_of(run, "embedding"), "embed");
  result.embedding = Tensor::from<float>(values, {static_cast<std::int64_t>(values.size())});
}

} // namespace lanner::tasks
