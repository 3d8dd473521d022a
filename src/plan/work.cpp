#include "plan/work.h"

#include <set>

#include "graph/op.h"
#include "ops/recurrent.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

std::uint64_t elements(const Value* value) {
  return value && value->type.is_static() ? static_cast<std::uint64_t>(value->type.shape().elements()) : 0;
}

std::uint64_t convolution_flops(const Node& node) {
  const Shape weights = node.input(1)->type.shape();
  if (weights.rank() < 2 || weights[0] == 0) return 0;
  return 2 * elements(node.output()) * (elements(node.input(1)) / static_cast<std::uint64_t>(weights[0]));
}

/// Every input element of a transposed convolution meets the weights of one input channel.
std::uint64_t transposed_flops(const Node& node) {
  const Shape weights = node.input(1)->type.shape();
  if (weights.rank() < 2 || weights[0] == 0) return 0;
  return 2 * elements(node.input(0)) * (elements(node.input(1)) / static_cast<std::uint64_t>(weights[0]));
}

std::uint64_t product_flops(const Node& node) {
  const Shape a = node.input(0)->type.shape();
  if (a.rank() == 0) return 0;
  const bool turned = node.kind() == "gemm" && node.attributes.flag("transA");
  const std::int64_t depth = turned && a.rank() == 2 ? a[0] : a.back();
  return 2 * elements(node.output()) * static_cast<std::uint64_t>(depth);
}

/// Every step of every row meets both matrices of each direction.
std::uint64_t recurrent_flops(const Node& node) {
  const Shape x = node.input(0)->type.shape();
  if (x.rank() != 3 || x[2] == 0 || !node.input(2) || !node.input(2)->type.is_static()) return 0;
  return 2 * static_cast<std::uint64_t>(x[0] * x[1]) * (elements(node.input(1)) + elements(node.input(2)));
}

bool has_static_operands(const Node& node) {
  return node.input(0) && node.input(1) && node.input(0)->type.is_static() && node.input(1)->type.is_static();
}

/// Without what lies between its stretches.
std::uint64_t own_bytes(const Value& value) {
  Storage storage = value.storage;
  storage.within = {};
  return storage_bytes(value, storage);
}

} // namespace

std::uint64_t bytes_of(const Node& node) {
  std::uint64_t total = 0;
  std::set<const Value*> counted;
  for (const Value* input : node.inputs())
    if (input && is_planned(*input) && counted.insert(input).second) total += own_bytes(*input);
  for (const auto& output : node.outputs())
    if (is_planned(*output)) total += own_bytes(*output);
  return total;
}

std::uint64_t flops_of(const Node& node) {
  std::uint64_t total = 0;
  if (node.kind() == "fused") {
    for (const auto& inner : node.regions().front()->nodes()) total += flops_of(*inner);
    return total;
  }
  if (node.op().elementwise) return node.outputs().empty() ? 0 : elements(node.output());
  if (!has_static_operands(node)) return 0;
  if (node.kind() == "conv") return convolution_flops(node);
  if (node.kind() == "conv_transpose") return transposed_flops(node);
  if (node.kind() == "gemm" || node.kind() == "matmul") return product_flops(node);
  if (ops::recurrent_kind(node.kind()).gates > 0) return recurrent_flops(node);
  return 0;
}

} // namespace lanner
