#include "plan/joins.h"

#include <algorithm>

#include "backends/storage_layout.h"
#include "base/check.h"
#include "graph/op.h"
#include "ops/axis.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

/// A layout that names its order.
Layout spelled(const Layout& layout, std::size_t rank) {
  Layout result = layout;
  for (std::size_t d = 0; result.order.size() < rank; ++d)
    result.order.push_back(static_cast<std::uint8_t>(d));
  return result;
}

std::int64_t block_of(const Layout& layout, std::size_t dim) {
  std::int64_t product = 1;
  for (const Layout::Block& block : layout.blocks)
    if (block.dim == dim) product *= block.size;
  return product;
}

/// Whether the axis is the outermost one of those that have more than one element.
bool outermost(const Layout& layout, const Shape& shape, std::size_t axis) {
  const Shape padded = layout.padded(shape);
  for (const std::uint8_t dim : layout.order) {
    if (dim == axis) return true;
    if (padded[dim] != block_of(layout, dim)) return false;
  }
  return false;
}

} // namespace

bool may_lie_in(const Value& value) {
  return value.producer() && !value.constant() && is_planned(value) && !is_alias_of_input(*value.producer());
}

std::optional<std::vector<std::int64_t>> joined_offsets(const Node& concat, std::span<const Storage> parts,
                                                        const Storage& result) {
  const std::int64_t alignment = result.device.is_host() ? 64 : 256;
  const Value& output = *concat.output();
  if (concat.kind() != "concat" || !is_planned(output) || output.type.rank() == 0 || result.quantization)
    return std::nullopt;
  const Shape shape = output.type.shape();
  const std::size_t axis = ops::resolve_axis(concat.attributes.integer("axis", 0), shape.rank());
  const Layout layout = spelled(result.layout, shape.rank());
  const std::int64_t block = block_of(layout, axis);
  if (!outermost(layout, shape, axis)) return std::nullopt;
  std::vector<std::int64_t> offsets;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value* part = concat.inputs()[i];
    if (!part || !is_planned(*part) || parts[i].quantization) return std::nullopt;
    const Shape size = part->type.shape();
    const bool same = canonical(spelled(parts[i].layout, size.rank()), size) == canonical(layout, size);
    Storage expected = result;
    expected.layout = parts[i].layout;
    const bool last = i + 1 == parts.size();
    if (!same || !same_storage(part->type, parts[i], expected) || offset % alignment != 0 ||
        (!last && size[axis] % block != 0))
      return std::nullopt;
    offsets.push_back(offset);
    offset += static_cast<std::int64_t>(storage_bytes(*part, parts[i]));
  }
  if (static_cast<std::uint64_t>(offset) != storage_bytes(output, result)) return std::nullopt;
  return offsets;
}

bool is_join(const Node& node) {
  return node.kind() == "concat" && node.tactic.backend == alias_backend;
}

bool is_alias_of_input(const Node& node) {
  return node.tactic.backend == alias_backend && !is_join(node);
}

void check_joins(const Graph& lowered) {
  for (const auto& node : lowered.body().nodes()) {
    for (const auto& output : node->outputs()) {
      const Value* parent = output->storage.parent;
      if (!parent) continue;
      const bool part = parent->producer() && is_join(*parent->producer()) &&
                        std::ranges::count(parent->producer()->inputs(), output.get()) == 1;
      check(part && may_lie_in(*output), ErrorCode::bad_data,
            "value {} lies in {}, which is no concatenation of it", output->name(), parent->name());
    }
    if (!is_join(*node)) continue;
    std::vector<Storage> storages;
    for (const Value* input : node->inputs()) storages.push_back(input ? input->storage : Storage{});
    const auto offsets = joined_offsets(*node, storages, node->output()->storage);
    for (std::size_t i = 0; i < storages.size(); ++i)
      check(offsets && storages[i].parent == node->output() && storages[i].offset == (*offsets)[i],
            ErrorCode::bad_data, "node {}: input {} does not lie where its part of the result is",
            node->label(), i);
  }
}

} // namespace lanner
