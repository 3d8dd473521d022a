#include "passes/permutation.h"

#include "ops/transpose.h"
#include "passes/reshape_target.h"
#include "passes/rewrite.h"

namespace lanner::passes {

std::optional<Permutation> permutation_of(const Node* node) {
  if (!node || node->kind() != "transpose" || !node->input(0)->type.ranked()) return std::nullopt;
  const auto order = ops::transpose_order(node->attributes, node->input(0)->type.rank());
  return Permutation(order.begin(), order.end());
}

Permutation inverse(const Permutation& p) {
  Permutation result(p.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    result[static_cast<std::size_t>(p[i])] = static_cast<std::int64_t>(i);
  return result;
}

Permutation compose(const Permutation& first, const Permutation& second) {
  Permutation result;
  for (std::int64_t i : second) result.push_back(first[static_cast<std::size_t>(i)]);
  return result;
}

bool is_identity(const Permutation& p) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

Type permuted(const Type& type, const Permutation& p) {
  Dims dims;
  for (std::int64_t i : p) dims.push_back(type.dims()[static_cast<std::size_t>(i)]);
  return type.with_dims(std::move(dims));
}

Value* emit_transpose(Node& before, Value* value, const Permutation& p) {
  AttributeMap attributes;
  attributes.set("perm", p);
  return emit_before(before, "transpose", std::vector<Value*>{value}, std::move(attributes),
                     permuted(value->type, p));
}

bool moves_nothing(const Type& type, const Permutation& p) {
  std::int64_t last = -1;
  for (std::int64_t i : p) {
    if (type.dims()[static_cast<std::size_t>(i)] == Dim(1)) continue;
    if (i < last) return false;
    last = i;
  }
  return true;
}

bool simplify_transpose(Node& node) {
  auto p = permutation_of(&node);
  if (!p) return false;
  Value* from = node.input(0);
  while (const auto earlier = permutation_of(from->producer())) {
    p = compose(*earlier, *p);
    from = from->producer()->input(0);
  }
  if (is_identity(*p)) {
    replace(node, from);
    return true;
  }
  const auto target = reshape_target(from->type, node.output()->type);
  if (target && moves_nothing(from->type, *p)) {
    replace(node, emit_reshape(node, from, *target, node.output()->type));
    return true;
  }
  if (from == node.input(0)) return false;
  replace(node, emit_transpose(node, from, *p));
  return true;
}

} // namespace lanner::passes
