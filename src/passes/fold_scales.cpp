// neg, and mul, div, add and sub by per-channel constants, are folded into the weights before them.

#include <algorithm>
#include <optional>

#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/scale_weights.h"

namespace lanner::passes {

namespace {

struct Step {
  Value *scale = nullptr, *shift = nullptr;
};

/// The same number for each channel.
Value* for_each_channel(ConstantMath& math, double number, std::size_t count) {
  return math.expand(math.number(number), {static_cast<std::int64_t>(count)});
}

std::optional<Step> scaling(Value* scale, Value* shift = nullptr) {
  return scale ? std::optional(Step{scale, shift}) : std::nullopt;
}

/// The effect of `node` on the channels of its operand `i`, when the other one is a constant.
std::optional<Step> step_of(ConstantMath& math, const Node& node, std::size_t i, const Channels& channels) {
  const Type& type = node.output()->type;
  Value* const numbers = per_channel(math, node.input(1 - i), type, channels.axis, channels.count);
  if (!numbers) return std::nullopt;
  const bool product = channels.axis + 1 == type.rank() && node.input(i)->producer()->kind() == "matmul";
  if (node.kind() == "mul") return Step{numbers, nullptr};
  if (node.kind() == "div" && i == 0) {
    const auto divisors = constant_reals(numbers);
    if (std::ranges::find(*divisors, 0.0) != divisors->end()) return std::nullopt;
    return scaling(math.apply("div", {math.number(1), numbers}));
  }
  if (node.kind() == "add") {
    // A product followed by the add of its bias is already the canonical form.
    return product ? std::nullopt : std::optional(Step{nullptr, numbers});
  }
  if (node.kind() != "sub") return std::nullopt;
  if (i == 1) return scaling(for_each_channel(math, -1, channels.count), numbers);
  Value* const shift = math.apply("neg", {numbers});
  return shift ? std::optional(Step{nullptr, shift}) : std::nullopt;
}

bool fold_negation(Node& node) {
  Value* const value = node.input(0);
  const auto channels = scalable_channels(value);
  if (!channels) return false;
  ConstantMath math(*channels->anchor);
  Value* const scale = for_each_channel(math, -1, channels->count);
  if (!scale || !scale_channels(math, value, scale, nullptr)) return false;
  take_sources(*value->producer(), node);
  replace(node, value);
  return true;
}

bool fold_operand(Node& node, std::size_t i) {
  Value* const value = node.input(i);
  const auto channels = scalable_channels(value);
  if (!channels || !(value->type == node.output()->type)) return false;
  ConstantMath math(*channels->anchor);
  const auto step = step_of(math, node, i, *channels);
  if (!step || !scale_channels(math, value, step->scale, step->shift)) return false;
  take_sources(*value->producer(), node);
  replace(node, node.input(i));
  return true;
}

bool fold(Node& node) {
  const std::string& kind = node.kind();
  if (kind == "neg") return fold_negation(node);
  if (kind != "mul" && kind != "div" && kind != "add" && kind != "sub") return false;
  return fold_operand(node, 0) || fold_operand(node, 1);
}

} // namespace

bool fold_scales(Graph& graph) {
  return for_each_node(graph, fold);
}

} // namespace lanner::passes
