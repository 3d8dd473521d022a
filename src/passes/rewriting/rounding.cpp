#include "passes/rewriting/rounding.h"

#include <utility>
#include <vector>

namespace lanner::passes {

static Value* cast(Graph& graph, Value& value, DType to) {
  AttributeMap attributes;
  attributes.set("to", to);
  const Type type = value.type.ranked() ? value.type.with_dtype(to) : Type::unranked(to);
  return graph.emit("cast", std::vector<Value*>{&value}, std::move(attributes), type,
                    graph.unique_name("rounded"));
}

Value* rounded_through(Graph& graph, Value& value, DType type) {
  return cast(graph, *cast(graph, value, type), DType::f32);
}

} // namespace lanner::passes
