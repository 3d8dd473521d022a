#include <algorithm>

#include "base/limits/account.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

/// The axis counted from the front, where the rank is known.
static std::optional<std::int64_t> axis_of(const Node& node) {
  const Type& type = node.output()->type;
  if (!type.is_tensor() || !type.ranked()) return std::nullopt;
  const std::int64_t axis = node.attributes.integer("axis", 0);
  return axis < 0 ? axis + static_cast<std::int64_t>(type.rank()) : axis;
}

/// How many inputs from index `first` on are the parts of one split along the axis, all of them and in order.
static std::size_t whole_split(const Node& node, std::size_t first, std::int64_t axis) {
  const Value* part = node.input(first);
  const Node* split = part ? part->producer() : nullptr;
  if (!split || split->kind() != "split" || axis_of(*split) != axis) return 0;
  const std::size_t parts = split->outputs().size();
  if (first + parts > node.own_inputs().size()) return 0;
  for (std::size_t i = 0; i < parts; ++i)
    if (node.input(first + i) != split->output(i)) return 0;
  return parts;
}

/// Replaces all the parts of a split by the value that was split; the split may have other users.
static bool join_splits(Node& node, std::int64_t axis) {
  const std::size_t before = node.own_inputs().size();
  std::size_t kept = 0; // compacts the inputs in place, so that the surplus is removed from the end
  for (std::size_t first = 0; first < before; ++kept) {
    const std::size_t parts = whole_split(node, first, axis);
    Value* value = parts == 0 ? node.input(first) : node.input(first)->producer()->input(0);
    if (node.input(kept) != value) node.set_input(kept, value);
    first += std::max<std::size_t>(parts, 1);
  }
  while (node.own_inputs().size() > kept) node.remove_input(node.own_inputs().size() - 1);
  return kept < before;
}

/// Whether this concat is read only by another concat along the axis, which will take its inputs: of a long
/// chain only the last one is rebuilt.
static bool is_read_by_another_concat(const Node& node, std::int64_t axis) {
  if (node.output()->uses().size() != 1) return false;
  const Node* reader = node.output()->uses().front().node;
  return reader && reader->kind() == "concat" && axis_of(*reader) == axis;
}

struct Parts {
  std::vector<Value*> values;
  std::vector<const Node*> inner; ///< Concats whose inputs were taken over.
};

static Parts parts_of(const Node& node, std::int64_t axis) {
  Parts parts;
  std::vector<Value*> open(node.own_inputs().rbegin(), node.own_inputs().rend());
  while (!open.empty()) {
    check_deadline();
    Value* value = open.back();
    open.pop_back();
    const Node* before = sole_producer(value, "concat");
    if (!before || axis_of(*before) != axis) {
      parts.values.push_back(value);
      continue;
    }
    parts.inner.push_back(before);
    open.insert(open.end(), before->own_inputs().rbegin(), before->own_inputs().rend());
  }
  return parts;
}

bool merge_concats(Graph& graph) {
  return for_each_node(graph, [](Node& node) {
    const auto axis = node.kind() == "concat" ? axis_of(node) : std::nullopt;
    if (!axis) return false;
    if (join_splits(node, *axis)) return true;
    if (is_read_by_another_concat(node, *axis)) return false;
    const Parts parts = parts_of(node, *axis);
    if (parts.inner.empty()) return false;
    AttributeMap attributes;
    attributes.set("axis", *axis);
    Value* merged = emit_before(node, "concat", parts.values, std::move(attributes), node.output()->type);
    for (const Node* before : parts.inner) take_sources(*merged->producer(), *before);
    take_name(*merged, *node.output());
    replace(node, merged);
    return true;
  });
}

} // namespace lanner::passes
