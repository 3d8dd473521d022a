#include "builder/early_precision.h"

#include <algorithm>
#include <unordered_set>

#include "backends/cpu/stored_types.h"
#include "base/check.h"
#include "graph/op.h"
#include "program/lowered/lowered.h"
#include "program/lowered/named_nodes.h"
#include "program/lowered/precision.h"

namespace lanner {
namespace {

/// Whether the node computes for all sizes: a resize to the same size or a sum over one element does not.
bool computes_at_any_size(const Node& node) {
  const Pattern pattern = pattern_of(node);
  return pattern == Pattern::contraction || pattern == Pattern::recurrent || pattern == Pattern::composite ||
         (node.op().elementwise && !only_moves(node));
}

/// The first node that certainly computes f32 values from inputs of a run. Nodes of shapes only are folded
/// once sizes are known; branches may not be entered, so regions do not count.
const Node* surely_computes(const Graph& graph, const Target& target) {
  std::unordered_set<const Value*> given;
  for (const auto& input : graph.body().parameters()) given.insert(input.get());
  for (const auto& node : graph.body().nodes()) {
    const auto is_given = [&](const Value* value) { return value && given.contains(value); };
    if (pattern_of(*node) == Pattern::generation || std::ranges::none_of(node->inputs(), is_given)) continue;
    for (const auto& output : node->outputs()) given.insert(output.get());
    const Node* const one = node.get();
    const std::optional<Target> own = target_for({&one, 1}, target);
    const bool f32 = std::ranges::any_of(node->outputs(), [](const auto& value) {
      return value->type.is_tensor() && value->type.dtype() == DType::f32;
    });
    if (own && own->precision.strict && !own->precision.types.contains(DType::f32) && f32 &&
        computes_at_any_size(*node))
      return one;
  }
  return nullptr;
}

/// The target without what is checked only on the nodes that remain once sizes are known: pins, and INT8,
/// whose kernels exist on a CPU too.
Target without_late(Target target) {
  target.precision.pins.clear();
  target.precision.types.erase(DType::i8);
  return target;
}

} // namespace

std::vector<std::string> early_precision(const Graph& graph, const Target& target) {
  if (!target.device.is_host() || (target.precision.allows(DType::bf16) && multiplies_bf16(target)))
    return {};
  const Node* const node = target.precision.strict ? surely_computes(graph, target) : nullptr;
  if (node)
    fail(ErrorCode::unsupported,
         "precision {} (strict): no kernel computes in it on a CPU, whatever the sizes, and {} ({}) has to; "
         "pin it to fp32, or leave strict out",
         target.precision.types_text(), node_name(*node), shown_kind(*node));
  return unused_precisions(graph, without_late(target));
}

bool decides_late(const Target& target) {
  const Precision& precision = target.precision;
  if (!precision.pins.empty()) return true;
  const bool halves = precision.allows(DType::bf16) && multiplies_bf16(target);
  if (target.device.is_host() && !halves) return precision.strict && !precision.types.contains(DType::f32);
  return precision.strict ||
         std::ranges::any_of(precision.types, [](DType type) { return type != DType::f32; });
}

} // namespace lanner
