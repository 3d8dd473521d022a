#include "builder/int8/int8_inputs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "builder/int8/batches.h"
#include "calibration/ranges.h"
#include "program/lowered/precision.h"

namespace lanner {

using passes::Int8Candidate;

std::vector<Int8Candidate> allowed_candidates(const Graph& graph, const Target& target) {
  std::vector<Int8Candidate> candidates = passes::int8_candidates(graph);
  std::erase_if(candidates, [&](const Int8Candidate& candidate) {
    const Node* const node = graph.find(candidate.node)->producer();
    const auto own = target_for({&node, 1}, target);
    return !own || !own->precision.types.contains(DType::i8);
  });
  return candidates;
}

std::string missing_kernel(const Graph& graph, const Int8Candidate& candidate, const Target& target) {
  const Value* const weights = graph.find(candidate.node)->producer()->input(1);
  if (target.device.is_host() || !weights->type.is_static()) return {};
  // A GPU's tensor cores take bytes in pairs along the sums.
  const std::int64_t channels = weights->type.shape()[candidate.weight_axis == 0 ? 1 : 0];
  if (channels == 1) return "a depthwise convolution has no INT8 kernel on a GPU";
  return channels % 2 == 0
             ? ""
             : fmt::format("{} channels, an odd number, have no INT8 kernel on a GPU", channels);
}

std::vector<std::string> values_read(const std::vector<Int8Candidate>& candidates) {
  std::vector<std::string> values;
  std::set<std::string> seen;
  for (const Int8Candidate& candidate : candidates)
    if (seen.insert(candidate.input).second) values.push_back(candidate.input);
  return values;
}

Calibration settled(Calibration calibration, const Graph& graph, const Limits& limits) {
  check(!calibration.data || calibration.data_file.empty(), ErrorCode::invalid_argument,
        "calibration: data and a data file are given; give one of them");
  check(calibration.table.empty() || calibration.table_file.empty(), ErrorCode::invalid_argument,
        "calibration: a table and a table file are given; give one of them");
  if (!calibration.data_file.empty()) calibration.data = batches_of(calibration.data_file, graph, limits);
  if (!calibration.table_file.empty()) calibration.table = CalibrationTable::load(calibration.table_file);
  calibration.table = merged({calibration.ranges}, calibration.table);
  return calibration;
}

void add_largest(const Tensor& values, std::int64_t axis, std::vector<float>& largest) {
  const auto numbers = values.as<float>();
  const Shape& shape = values.shape();
  largest.resize(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]));
  std::size_t inner = 1;
  for (auto i = static_cast<std::size_t>(axis) + 1; i < shape.rank(); ++i)
    inner *= static_cast<std::size_t>(shape[i]);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    float& most = largest[i / inner % largest.size()];
    most = std::max(most, std::abs(numbers[i]));
  }
}

} // namespace lanner
