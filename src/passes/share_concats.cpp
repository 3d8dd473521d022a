#include <map>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lanner::passes {

namespace {

/// The axis counted from the front, and the first parts.
using Beginning = std::pair<std::int64_t, std::vector<const Value*>>;

std::optional<Beginning> beginning_of(const Node& node) {
  const Type& type = node.output()->type;
  if (node.kind() != "concat" || !type.is_tensor() || !type.ranked()) return std::nullopt;
  const std::int64_t axis = node.attributes.integer("axis", 0);
  return Beginning{axis < 0 ? axis + static_cast<std::int64_t>(type.rank()) : axis,
                   {node.own_inputs().begin(), node.own_inputs().end()}};
}

/// Reads `first` in the place of so many parts.
void shorten(Node& node, Node& first, std::size_t parts) {
  node.set_input(0, first.output());
  for (std::size_t i = parts; i-- > 1;) node.remove_input(i);
}

bool share_in(Region& region) {
  bool changed = false;
  std::map<Beginning, Node*> seen;
  for (const auto& node : region.nodes()) {
    auto beginning = beginning_of(*node);
    if (!beginning) continue;
    const Beginning whole = *beginning;
    for (auto& parts = beginning->second; parts.size() > 2;) {
      parts.pop_back();
      const auto found = seen.find(*beginning);
      if (found == seen.end()) continue;
      shorten(*node, *found->second, parts.size());
      changed = true;
      break;
    }
    // One that nothing reads is about to go: merge_concats would take it out of its new reader again.
    if (!node->output()->unused()) seen.emplace(whole, node.get());
  }
  return changed;
}

} // namespace

bool share_concats(Graph& graph) {
  bool changed = false;
  for_each_region(graph, [&](Region& region) { changed = share_in(region) || changed; });
  return changed;
}

} // namespace lanner::passes
