#include "passes/int8/equalisation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "passes/rewriting/constant_math.h"
#include "passes/rewriting/scale_weights.h"

namespace lanner::passes {
namespace {

/// Whether scaling a channel of what it reads by a positive number scales its result's channel alike.
bool keeps_scales(const Node& node) {
  static const std::set<std::string_view> kinds = {"relu", "leaky_relu", "max_pool", "average_pool"};
  return kinds.contains(node.kind()) && node.outputs().size() == 1;
}

const Node& node_of(const Graph& graph, const Int8Candidate& candidate) {
  return *graph.find(candidate.node)->producer();
}

/// The value before those nodes; null where other nodes read it or one behind it.
Value* first_result(const Node& reader) {
  Value* value = reader.input(0);
  while (value->uses().size() == 1) {
    Node* const producer = value->producer();
    if (!producer || !keeps_scales(*producer)) return value;
    value = producer->input(0);
  }
  return nullptr;
}

std::int64_t inputs_of_group(const Node& node, const Int8Candidate& candidate) {
  return node.input(1)->type.shape()[candidate.weight_axis == 0 ? 1 : 0];
}

/// For each channel read, its largest weight as a share of the largest of the result's channel.
std::vector<double> shares_of_weights(const Node& node, const Int8Candidate& candidate, std::size_t count) {
  const Shape shape = node.input(1)->type.shape();
  const auto weights = node.input(1)->constant()->as<float>();
  const bool conv = candidate.weight_axis == 0;
  const std::int64_t outputs = shape[conv ? 0 : 1], inputs = inputs_of_group(node, candidate);
  const std::int64_t taps = shape.elements() / (outputs * inputs);
  const std::int64_t groups = static_cast<std::int64_t>(count) / inputs;
  const auto place = [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t o = conv ? at / taps / inputs : at % outputs;
    const std::int64_t k = conv ? at / taps % inputs : at / outputs;
    return std::pair(static_cast<std::size_t>(o),
                     static_cast<std::size_t>(o * groups / outputs * inputs + k));
  };
  std::vector<double> largest(static_cast<std::size_t>(outputs)), shares(count);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double& most = largest[place(i).first];
    most = std::max(most, static_cast<double>(std::abs(weights[i])));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto [o, channel] = place(i);
    if (largest[o] > 0) shares[channel] = std::max(shares[channel], std::abs(weights[i]) / largest[o]);
  }
  return shares;
}

} // namespace

std::vector<Int8Candidate> equalisable(const Graph& graph, const std::vector<Int8Candidate>& candidates) {
  std::vector<Int8Candidate> found;
  for (const Int8Candidate& candidate : candidates) {
    const Node& node = node_of(graph, candidate);
    if (node.input(1)->uses().size() != 1) continue;
    const Value* const first = first_result(node);
    const auto channels = first ? scalable_channels(first) : std::nullopt;
    const auto rank = static_cast<std::int64_t>(node.input(0)->type.rank());
    if (!channels || static_cast<std::int64_t>(channels->axis) != candidate.channel_axis(rank)) continue;
    const std::int64_t groups = candidate.weight_axis == 0 ? node.attributes.integer("group", 1) : 1;
    if (static_cast<std::int64_t>(channels->count) == inputs_of_group(node, candidate) * groups)
      found.push_back(candidate);
  }
  return found;
}

std::vector<double> channel_scales(const Graph& graph, const Int8Candidate& candidate,
                                   std::span<const float> largest) {
  constexpr double most = 4; // at most 16 or 1/16: channels that are nearly always 0 have no say
  const std::vector<double> shares = shares_of_weights(node_of(graph, candidate), candidate, largest.size());
  std::vector<double> logs(largest.size(), std::nan(""));
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!(largest[i] > 0) || !std::isfinite(largest[i]) || !(shares[i] > 0)) continue;
    logs[i] = std::log2(largest[i] / shares[i]) / 2;
    sum += logs[i];
    count += 1;
  }
  std::vector<double> scales;
  for (double log : logs)
    scales.push_back(std::isnan(log) ? 1 : std::exp2(std::clamp(std::round(log - sum / count), -most, most)));
  return scales;
}

bool equalise(Graph& graph, const Int8Candidate& candidate, const std::vector<double>& scales) {
  Node& node = *graph.find(candidate.node)->producer();
  Value* const first = first_result(node);
  const auto channels = first ? scalable_channels(first) : std::nullopt;
  if (!channels) return false;
  std::vector<double> factors;
  for (double scale : scales) factors.push_back(1 / scale);
  const std::vector<float> reals(scales.begin(), scales.end());
  const auto count = static_cast<std::int64_t>(scales.size());
  ConstantMath math(node), before(*channels->anchor);
  Value* const spread =
      graph.constant(by_weight_channel(reals, node.input(1)->type.shape(), candidate.weight_axis,
                                       candidate.weight_axis == 0 ? node.attributes.integer("group", 1) : 1),
                     "scales", &node);
  Value* const weights = math.apply("mul", {node.input(1), spread});
  if (spread->unused()) spread->region()->erase(spread->producer());
  if (!weights) return false;
  Value* const divisors =
      graph.constant(Tensor::from<double>(factors, {count}), "divisors", channels->anchor);
  const bool scaled = scale_channels(before, first, divisors, nullptr);
  if (divisors->unused()) divisors->region()->erase(divisors->producer());
  if (scaled) node.set_input(1, weights);
  return scaled;
}

} // namespace lanner::passes
