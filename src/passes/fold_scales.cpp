// neg, and mul, div, add and sub by constants of one number a channel, go into the weights before them.

#include <algorithm>

#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/scale_weights.h"

namespace lanner::passes {

namespace {

struct Step {
  Value* value = nullptr;
  std::vector<double> scale, shift;
};

std::vector<double> mapped(std::vector<double> values, double (*function)(double)) {
  std::ranges::transform(values, values.begin(), function);
  return values;
}

/// What `node` does to the channels of its operand `i`, the other being a constant.
std::optional<Step> step_of(const Node& node, std::size_t i) {
  Step step{node.input(i), {}, {}};
  const auto channels = scalable_channels(step.value);
  if (!channels || !(step.value->type == node.output()->type)) return std::nullopt;
  const auto numbers = per_channel(node.input(1 - i), node.output()->type, channels->axis, channels->count);
  if (!numbers) return std::nullopt;
  const bool product =
      channels->axis + 1 == node.output()->type.rank() && step.value->producer()->kind() == "matmul";
  if (node.kind() == "mul") {
    step.scale = *numbers;
  } else if (node.kind() == "div" && i == 0) {
    if (std::ranges::find(*numbers, 0.0) != numbers->end()) return std::nullopt;
    step.scale = mapped(*numbers, [](double x) { return 1 / x; });
  } else if (node.kind() == "add") {
    // A product followed by the add of its bias is the form to reach.
    if (product) return std::nullopt;
    step.shift = *numbers;
  } else if (node.kind() == "sub" && i == 0) {
    step.shift = mapped(*numbers, [](double x) { return -x; });
  } else if (node.kind() == "sub") {
    step.scale.assign(channels->count, -1);
    step.shift = *numbers;
  } else {
    return std::nullopt;
  }
  return step;
}

bool fold_negation(Node& node) {
  Value* const value = node.input(0);
  const auto channels = scalable_channels(value);
  if (!channels || !scale_channels(value, std::vector<double>(channels->count, -1), {})) return false;
  take_sources(*value->producer(), node);
  replace(node, value);
  return true;
}

bool fold(Node& node) {
  const std::string& kind = node.kind();
  if (kind == "neg") return fold_negation(node);
  if (kind != "mul" && kind != "div" && kind != "add" && kind != "sub") return false;
  for (std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto step = step_of(node, i);
    if (!step || !scale_channels(step->value, step->scale, step->shift)) continue;
    take_sources(*step->value->producer(), node);
    replace(node, node.input(i));
    return true;
  }
  return false;
}

} // namespace

bool fold_scales(Graph& graph) {
  return for_each_node(graph, fold);
}

} // namespace lanner::passes
