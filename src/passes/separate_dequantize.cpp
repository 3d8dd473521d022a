// Each reader of a dequantised value of the run gets a dequantize_linear of its own, so that the reader's
// group can hold it and read the stored integers (docs/decisions/052-int8.md). Transposes go before it for
// the same reason.

#include <algorithm>

#include "graph/op.h"
#include "ops/definition/permutation.h"
#include "passes/passes.h"
#include "passes/rewriting/quantization.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/transposes.h"

namespace lanner::passes {
namespace {

/// transpose(dequantize_linear(q)) becomes dequantize_linear(transpose(q)).
bool transpose_before(Node& node) {
  const auto p = ops::permutation_of(&node);
  Node* const maker = p ? node.input(0)->producer() : nullptr;
  if (!dequantizes(maker) || maker->input(0)->constant()) return false;
  Value* const stored = emit_transpose(node, maker->input(0), *p);
  replace(node, emit_quantization(node, *maker, stored, node.output()->type));
  if (maker->output()->unused()) maker->region()->erase(maker);
  return true;
}

bool separate(Node& node) {
  if (node.kind() != "dequantize_linear" || node.input(0)->constant()) return false;
  std::vector<Node*> readers; // each once, in the order of their uses
  bool is_result = false;
  for (const Use& use : node.output()->uses()) {
    is_result |= use.node == nullptr;
    if (use.node && !std::ranges::count(readers, use.node)) readers.push_back(use.node);
  }
  if (readers.size() + (is_result ? 1 : 0) < 2) return false;
  for (std::size_t r = is_result ? 0 : 1; r < readers.size(); ++r) {
    const std::vector<Value*> inputs(node.inputs().begin(), node.inputs().end());
    Value* const copy = node.region()->graph().emit("dequantize_linear", inputs, node.attributes,
                                                    node.output()->type, node.output()->name(), readers[r]);
    copy->producer()->sources = node.sources;
    for (std::size_t i = 0; i < readers[r]->inputs().size(); ++i)
      if (readers[r]->input(i) == node.output()) readers[r]->set_input(i, copy);
  }
  return true;
}

} // namespace

bool separate_dequantize(Graph& graph) {
  const bool moved = for_each_node(graph, transpose_before);
  return for_each_node(graph, separate) || moved;
}

} // namespace lanner::passes
