// Elementwise nodes broadcast their operands, so they read an expanded operand before its expand.

#include <algorithm>

#include "graph/op.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {
namespace {

/// Whether an operand other than `skipped` has the result's shape, so that the rest may be smaller.
bool has_full_operand(const Node& node, std::size_t skipped) {
  const Type& result = node.output()->type;
  for (std::size_t i = 0; i < node.own_inputs().size(); ++i) {
    const Value* other = node.input(i);
    const bool full = other && i != skipped && other->type.ranked() && other->type.dims() == result.dims();
    if (full && !producer(other, "expand")) return true;
  }
  return false;
}

/// Whether operand `i` repeats to the result's shape: of `prelu` and `clip` the first has that shape, of
/// `swi_glu` both.
bool repeats(const Node& node, std::size_t i) {
  const std::string& kind = node.kind();
  return kind != "swi_glu" && (i > 0 || (kind != "prelu" && kind != "clip"));
}

bool forward(Node& node) {
  if (!node.op().elementwise || !node.regions().empty() || node.outputs().size() != 1 ||
      !node.output()->type.ranked())
    return false;
  bool changed = false;
  for (std::size_t i = 0; i < node.own_inputs().size(); ++i) {
    const Node* expand = producer(node.input(i), "expand");
    if (!expand || !repeats(node, i) || !has_full_operand(node, i)) continue;
    node.set_input(i, expand->input(0));
    changed = true;
  }
  return changed;
}

} // namespace

bool forward_expands(Graph& graph) {
  return for_each_node(graph, forward);
}

} // namespace lanner::passes
