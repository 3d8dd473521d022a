#include <algorithm>

#include "base/limits/account.h"
#include "ops/interpreter/folding.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

static bool drop_captures(Node& node) {
  std::vector<bool> unused(node.captures(), true);
  for (const auto& region : node.regions())
    for (std::size_t c = 0; c < unused.size(); ++c)
      unused[c] = unused[c] && region->parameter(region->parameters().size() - unused.size() + c)->unused();
  if (std::ranges::find(unused, true) == unused.end()) return false;
  remove_captures(node, unused);
  return true;
}

static bool is_dead(const Node& node) {
  for (const auto& output : node.outputs()) {
    if (!output->unused()) return false;
  }
  return ops::is_pure(node);
}

// Backwards, so that a node used only by dead nodes is already dead when it is reached.
static bool drop(Region& region) {
  bool changed = false;
  Node* node = region.nodes().empty() ? nullptr : region.nodes().back().get();
  while (node) {
    check_deadline();
    Node* const previous = region.previous(node);
    if (is_dead(*node)) {
      region.erase(node);
      changed = true;
    } else if (!node->regions().empty()) {
      for (const auto& inner : node->regions()) changed = drop(*inner) || changed;
      changed = drop_captures(*node) || changed;
    }
    node = previous;
  }
  return changed;
}

bool drop_dead_nodes(Graph& graph) {
  return drop(graph.body());
}

} // namespace lanner::passes
