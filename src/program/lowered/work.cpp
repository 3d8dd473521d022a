#include "program/lowered/work.h"

#include <set>

#include "graph/op.h"
#include "ops/traits.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

bool has_static_operands(const Node& node) {
  return node.input(0) && node.input(1) && node.input(0)->type.is_static() && node.input(1)->type.is_static();
}

/// Bytes without the gaps between its slices.
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
  if (is_group(node)) {
    for (const auto& inner : node.regions().front()->nodes()) total += flops_of(*inner);
    return total;
  }
  if (node.op().elementwise) return node.outputs().empty() ? 0 : ops::element_count(node.output());
  const auto& flops = node.op().traits.flops;
  return flops && has_static_operands(node) ? flops(node) : 0;
}

} // namespace lanner
