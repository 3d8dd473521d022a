#include "program/lowered/joins.h"

#include <set>
#include <utility>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "ops/definition/axis.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/slices.h"

namespace lanner {

bool may_lie_in(const Value& value) {
  return value.producer() && !value.constant() && is_planned(value) && !is_alias_of_input(*value.producer());
}

std::optional<std::vector<std::int64_t>> joined_offsets(const Node& concat, std::span<const Storage> parts,
                                                        const Storage& result) {
  const Value& output = *concat.output();
  if (!ops::is_concat(concat) || !is_planned(output) || output.type.rank() == 0) return std::nullopt;
  const std::size_t axis = ops::resolve_axis(concat.attributes.integer("axis", 0), output.type.rank());
  std::vector<std::int64_t> offsets;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value* part = concat.inputs()[i];
    if (!part || !is_planned(*part)) return std::nullopt;
    const auto offset = part_offset({output.type, result}, {part->type, parts[i]}, axis, start);
    if (!offset) return std::nullopt;
    offsets.push_back(*offset);
    start += part->type.shape()[axis];
  }
  return offsets;
}

bool is_join(const Node& node) {
  return ops::is_concat(node) && node.tactic.backend == alias_backend;
}

bool is_alias_of_input(const Node& node) {
  return node.tactic.backend == alias_backend && !is_join(node);
}

/// Pairs of a concatenation joined in memory and a value that it reads once.
static std::set<std::pair<const Node*, const Value*>> joined_parts(const Graph& lowered) {
  std::set<std::pair<const Node*, const Value*>> once, seen;
  for (const auto& node : lowered.body().nodes()) {
    if (!is_join(*node)) continue;
    for (const Value* input : node->inputs())
      if (const std::pair part{node.get(), input}; seen.insert(part).second)
        once.insert(part);
      else
        once.erase(part);
  }
  return once;
}

void check_joins(const Graph& lowered) {
  const auto parts = joined_parts(lowered);
  for (const auto& parameter : lowered.body().parameters())
    check(!parameter->storage.within, ErrorCode::bad_data, "input {} is part of a larger value",
          parameter->name());
  for (const auto& node : lowered.body().nodes()) {
    check_deadline();
    for (const auto& output : node->outputs()) {
      const Value* parent = output->storage.parent;
      check(!output->storage.within || !is_constant(*node), ErrorCode::bad_data,
            "constant {} is part of a larger value", output->name());
      if (!parent) continue;
      const bool part = parent->producer() && parts.contains({parent->producer(), output.get()});
      check(part && may_lie_in(*output), ErrorCode::bad_data,
            "value {} is stored in {}, which is not a concatenation of it", output->name(), parent->name());
    }
    if (!is_join(*node)) continue;
    std::vector<Storage> storages;
    for (const Value* input : node->inputs()) storages.push_back(input ? input->storage : Storage{});
    const auto offsets = joined_offsets(*node, storages, node->output()->storage);
    for (std::size_t i = 0; i < storages.size(); ++i)
      check(offsets && storages[i].parent == node->output() && storages[i].offset == (*offsets)[i],
            ErrorCode::bad_data, "node {}: input {} is not stored at its part of the result", node->label(),
            i);
  }
}

} // namespace lanner
