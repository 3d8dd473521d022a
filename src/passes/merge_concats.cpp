#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lanner::passes {

/// The axis counted from the front, where the rank is known.
static std::optional<std::int64_t> axis_of(const Node& node) {
  const Type& type = node.output()->type;
  if (!type.is_tensor() || !type.ranked()) return std::nullopt;
  const std::int64_t axis = node.attributes.integer("axis", 0);
  return axis < 0 ? axis + static_cast<std::int64_t>(type.rank()) : axis;
}

/// How many inputs from the `first` on are all parts of one split along the axis, in order.
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

/// Reads what was split in the place of all its parts; others may go on reading these.
static bool join_splits(Node& node, std::int64_t axis) {
  bool changed = false;
  for (std::size_t first = 0; first < node.own_inputs().size(); ++first) {
    const std::size_t parts = whole_split(node, first, axis);
    if (parts == 0) continue;
    node.set_input(first, node.input(first)->producer()->input(0));
    for (std::size_t i = first + parts; --i > first;) node.remove_input(i);
    changed = true;
  }
  return changed;
}

bool merge_concats(Graph& graph) {
  return for_each_node(graph, [](Node& node) {
    const auto axis = node.kind() == "concat" ? axis_of(node) : std::nullopt;
    if (!axis) return false;
    if (join_splits(node, *axis)) return true;
    std::vector<Value*> parts;
    std::vector<const Node*> inner;
    for (Value* input : node.own_inputs()) {
      const Node* before = sole_producer(input, "concat");
      if (before && axis_of(*before) == axis) {
        parts.insert(parts.end(), before->own_inputs().begin(), before->own_inputs().end());
        inner.push_back(before);
      } else {
        parts.push_back(input);
      }
    }
    if (inner.empty()) return false;
    AttributeMap attributes;
    attributes.set("axis", *axis);
    Value* merged = emit_before(node, "concat", parts, std::move(attributes), node.output()->type);
    for (const Node* before : inner) take_sources(*merged->producer(), *before);
    take_name(*merged, *node.output());
    replace(node, merged);
    return true;
  });
}

} // namespace lanner::passes
