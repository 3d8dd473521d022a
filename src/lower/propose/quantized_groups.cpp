#include "lower/propose/quantized_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/limits/account.h"
#include "graph/op.h"
#include "ops/elementwise/quantization.h"
#include "program/lowered/lowered.h"
#include "program/lowered/precision.h"

namespace lanner {
namespace {

constexpr std::size_t most_steps = 12; // each number of steps is a group of its own

/// The only node that reads `value`; null where it has other uses.
Node* only_reader(const Value& value) {
  return value.uses().size() == 1 ? value.uses().front().node : nullptr;
}

/// The dequantize_linear of a value of the run that only `reader` reads; else null.
Node* dequantized_for(const Value* value, const Node& reader) {
  Node* const producer = value ? value->producer() : nullptr;
  if (!producer || !ops::dequantizes(*producer) || producer->region() != reader.region()) return nullptr;
  return producer->input(0)->constant() || only_reader(*value) != &reader ? nullptr : producer;
}

class Finder {
public:
  Finder(Graph& graph, const Target& target)
      : graph_(graph), target_(target), order_(execution_order(graph)) {}

  std::vector<QuantizedGroup> run() {
    for (const auto& node : graph_.body().nodes()) {
      check_deadline();
      if (pattern_of(*node) == Pattern::contraction && node->regions().empty() && node->inputs().size() >= 2)
        grow(*node);
    }
    return std::move(found_);
  }

private:
  void grow(Node& contraction) {
    Node* const left = dequantized_for(contraction.input(0), contraction);
    if (!left || !contraction.input(1)) return;
    NodeGroup members{left};
    const bool of_values = !contraction.input(1)->constant();
    if (of_values) {
      Node* const right = dequantized_for(contraction.input(1), contraction);
      if (!right) return;
      members.push_back(right);
    }
    members.push_back(&contraction);
    std::vector<NodeGroup> sizes{members};
    while (sizes.size() <= most_steps && take_step(members)) sizes.push_back(members);
    for (auto group = sizes.rbegin(); group != sizes.rend(); ++group) add(*group, contraction, of_values);
  }

  /// The only reader of the node's result, where it is a step of an epilogue.
  static Node* step_after(const Node& last) {
    Node* const next = only_reader(*last.output());
    const bool is_step = next && next->region() == last.region() &&
                         pattern_of(*next) == Pattern::elementwise && next->outputs().size() == 1 &&
                         next->output()->type.dims() == last.output()->type.dims();
    return is_step ? next : nullptr;
  }

  /// Adds the next step, and before it the dequantize_linear of what the last one quantised: a sum that reads
  /// a convolution's quantised result.
  static bool take_step(NodeGroup& members) {
    Node* next = step_after(*members.back());
    Node* const again = next && ops::quantizes(*members.back()) && ops::dequantizes(*next) ? next : nullptr;
    if (ops::quantizes(*members.back()) && !again) return false;
    if (again) next = step_after(*again);
    if (!next) return false;
    if (again) members.push_back(again);
    for (const Value* input : next->inputs())
      if (Node* const operand = dequantized_for(input, *next); operand && operand != again)
        members.push_back(operand);
    members.push_back(next);
    return true;
  }

  void add(NodeGroup group, const Node& contraction, bool of_values) {
    std::ranges::sort(group, {}, [&](const Node* node) { return order_.at(node); });
    const auto is_static = [](const Node* node) {
      return std::ranges::all_of(node->inputs(),
                                 [](const Value* value) { return !value || value->type.is_static(); });
    };
    const std::vector<const Node*> nodes(group.begin(), group.end());
    if (std::ranges::all_of(group, is_static) && may_run_as_one(group, order_) && target_for(nodes, target_))
      found_.push_back({std::move(group), &contraction, of_values});
  }

  Graph& graph_;
  const Target& target_;
  std::map<const Node*, std::size_t> order_;
  std::vector<QuantizedGroup> found_;
};

} // namespace

std::vector<QuantizedGroup> quantized_groups(Graph& graph, const Target& target) {
  return Finder(graph, target).run();
}

} // namespace lanner
