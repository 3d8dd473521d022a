#include "ops/definition/permutation.h"

#include "ops/movement/transpose.h"

namespace lanner::ops {

std::optional<Permutation> permutation_of(const Node* node) {
  if (!node || node->kind() != "transpose" || !node->input(0)->type.ranked()) return std::nullopt;
  const auto order = transpose_order(node->attributes, node->input(0)->type.rank());
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

bool moves_nothing(const Type& type, const Permutation& p) {
  std::int64_t last = -1;
  for (std::int64_t i : p) {
    if (type.dims()[static_cast<std::size_t>(i)] == Dim(1)) continue;
    if (i < last) return false;
    last = i;
  }
  return true;
}

} // namespace lanner::ops
