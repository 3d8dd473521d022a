#include "passes/rewriting/transposes.h"

#include "graph/op.h"
#include "ops/definition/permutation.h"
#include "passes/rewriting/quantization.h"
#include "passes/rewriting/reshape_target.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

Value* emit_transpose(Node& before, Value* value, const ops::Permutation& p) {
  AttributeMap attributes;
  attributes.set("perm", p);
  return emit_before(before, "transpose", std::vector<Value*>{value}, std::move(attributes),
                     ops::permuted(value->type, p));
}

bool simplify_transpose(Node& node) {
  auto p = ops::permutation_of(&node);
  if (!p) return false;
  Value* from = node.input(0);
  while (const auto earlier = ops::permutation_of(from->producer())) {
    p = ops::compose(*earlier, *p);
    from = from->producer()->input(0);
  }
  if (ops::is_identity(*p)) {
    replace(node, from);
    return true;
  }
  const auto target = reshape_target(from->type, node.output()->type);
  if (target && ops::moves_nothing(from->type, *p)) {
    replace(node, emit_reshape(node, from, *target, node.output()->type));
    return true;
  }
  if (from == node.input(0)) return false;
  replace(node, emit_transpose(node, from, *p));
  return true;
}

bool works_on_elements(const Node& node) {
  if (quantizes(&node) || (dequantizes(&node) && !node.input(0)->constant())) return true;
  return node.op().elementwise && node.regions().empty() && node.outputs().size() == 1 &&
         !node.attributes.has("axis") && node.kind() != "reorder";
}

} // namespace lanner::passes
