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

bool merge_concats(Graph& graph) {
  return for_each_node(graph, [](Node& node) {
    const auto axis = node.kind() == "concat" ? axis_of(node) : std::nullopt;
    if (!axis) return false;
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
