#include "passes/permutation.h"

#include "passes/rewrite.h"

namespace lanner::passes {

std::optional<Permutation> permutation_of(const Node* node) {
  if (!node || node->kind() != "transpose" || !node->input(0)->type.ranked()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(node->input(0)->type.rank());
  Permutation p = node->attributes.integers("perm");
  // Without `perm` the dims are reversed.
  if (!node->attributes.has("perm")) {
    for (std::int64_t i = rank; i-- > 0;) p.push_back(i);
  }
  return p;
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

} // namespace lanner::passes
