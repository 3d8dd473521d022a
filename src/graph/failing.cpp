#include "graph/failing.h"

#include <algorithm>
#include <vector>

#include "graph/op.h"

namespace lanner {

static Type without_dims(const Type& type) {
  switch (type.kind()) {
  case Type::Kind::sequence:
    return Type::sequence(without_dims(type.element()));
  case Type::Kind::optional:
    return Type::optional(without_dims(type.element()));
  case Type::Kind::tensor:
    break;
  }
  return Type::unranked(type.dtype());
}

void make_failing(Region& region, const std::string& why, std::span<const Type> types) {
  while (!region.outputs().empty()) region.remove_output(region.outputs().size() - 1);
  while (!region.nodes().empty()) region.erase(region.nodes().back().get());
  Node* node = region.create(region.graph().ops().get(fail_kind), {});
  node->attributes.set("why", why);
  std::vector<std::string> texts;
  for (const Type& type : types) texts.push_back(without_dims(type).to_string());
  node->attributes.set("types", std::move(texts));
  for (const Type& type : types) region.add_output(node->add_output(fail_kind, without_dims(type)));
}

const Node* failing_node(const Region& region) {
  const auto found =
      std::ranges::find_if(region.nodes(), [](const auto& node) { return node->kind() == fail_kind; });
  return found == region.nodes().end() ? nullptr : found->get();
}

} // namespace lanner
