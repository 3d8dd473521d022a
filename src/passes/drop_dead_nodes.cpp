#include "base/account.h"
#include "ops/folding.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace lanner::passes {

static bool drop_captures(Node& node) {
  bool changed = false;
  for (std::size_t i = node.captures(); i-- > 0;) {
    check_deadline();
    bool used = false;
    for (const auto& region : node.regions())
      used = used || !region->parameter(region->parameters().size() - node.captures() + i)->unused();
    if (used) continue;
    node.remove_capture(i);
    changed = true;
  }
  return changed;
}

static bool is_dead(const Node& node) {
  for (const auto& output : node.outputs()) {
    if (!output->unused()) return false;
  }
  return ops::is_pure(node);
}

// From the end, so that what only a dead node uses is dead when its turn comes.
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
