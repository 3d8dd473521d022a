// A gather by one constant index is a slice of size 1, which a lowered graph may treat as a view of memory; a
// gather copies.

#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

struct Pick {
  std::int64_t axis = 0, place = 0; ///< Both non-negative.
  bool drops_axis = false;          ///< The index is a scalar, not a list.
};

std::optional<Pick> pick_of(const Node& node) {
  if (node.kind() != "gather") return std::nullopt;
  const Type &data = node.input(0)->type, &indices = node.input(1)->type;
  const auto index = constant_integers(node.input(1));
  // Shape computations also pick sizes so, and their consumers recognise a gather.
  if (!index || index->size() != 1 || !is_float(data.dtype()) || !data.ranked() || data.rank() == 0 ||
      !indices.ranked() || indices.rank() > 1)
    return std::nullopt;
  const auto rank = static_cast<std::int64_t>(data.rank());
  Pick pick{node.attributes.integer("axis", 0), index->front(), indices.rank() == 0};
  if (pick.axis < 0) pick.axis += rank;
  if (pick.axis < 0 || pick.axis >= rank) return std::nullopt;
  const auto size = data.dims()[static_cast<std::size_t>(pick.axis)].constant();
  if (!size) return std::nullopt;
  if (pick.place < 0) pick.place += *size;
  if (pick.place < 0 || pick.place >= *size) return std::nullopt; // Out of range: an error at run time.
  return pick;
}

bool rewrite(Node& node) {
  const auto pick = pick_of(node);
  if (!pick) return false;
  Value* const data = node.input(0);
  Dims dims(data->type.dims().begin(), data->type.dims().end());
  dims[static_cast<std::size_t>(pick->axis)] = Dim(1);
  Value* const axes = integers_before(node, {pick->axis}, "axes");
  const std::vector<Value*> inputs{data, integers_before(node, {pick->place}, "starts"),
                                   integers_before(node, {pick->place + 1}, "ends"), axes};
  Value* result = emit_before(node, "slice", inputs, {}, data->type.with_dims(dims));
  if (pick->drops_axis)
    result = emit_before(node, "squeeze", std::vector<Value*>{result, axes}, {}, node.output()->type);
  replace(node, result);
  return true;
}

} // namespace

bool gather_as_slice(Graph& graph) {
  return for_each_node(graph, rewrite);
}

} // namespace lanner::passes
