#include <algorithm>
#include <unordered_map>

#include "base/limits/account.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

namespace {

/// The axis, non-negative, and the inputs.
using Beginning = std::pair<std::int64_t, std::vector<const Value*>>;

std::optional<Beginning> beginning_of(const Node& node) {
  const Type& type = node.output()->type;
  if (node.kind() != "concat" || !type.is_tensor() || !type.ranked()) return std::nullopt;
  const std::int64_t axis = node.attributes.integer("axis", 0);
  return Beginning{axis < 0 ? axis + static_cast<std::int64_t>(type.rank()) : axis,
                   {node.own_inputs().begin(), node.own_inputs().end()}};
}

/// Reads `first` in place of its first `parts` inputs.
void shorten(Node& node, Node& first, std::size_t parts) {
  node.set_input(0, first.output());
  std::size_t kept = 1;
  for (std::size_t i = parts; i < node.own_inputs().size(); ++i) node.set_input(kept++, node.input(i));
  while (node.own_inputs().size() > kept) node.remove_input(node.own_inputs().size() - 1);
}

/// For each number of parts, a hash of the axis and of that many first parts.
std::vector<std::size_t> hashes_of(const Beginning& whole) {
  std::vector<std::size_t> hashes{std::hash<std::int64_t>{}(whole.first)};
  for (const Value* part : whole.second) {
    const std::size_t mixed = hashes.back() ^ std::hash<const Value*>{}(part);
    hashes.push_back(mixed * 0x9e3779b97f4a7c15ull + (mixed >> 29));
  }
  return hashes;
}

bool begins_with(const Beginning& whole, const Beginning& first) {
  return whole.first == first.first && first.second.size() <= whole.second.size() &&
         std::equal(first.second.begin(), first.second.end(), whole.second.begin());
}

bool share_in(Region& region) {
  bool changed = false;
  std::unordered_map<std::size_t, std::pair<Beginning, Node*>> seen;
  for (const auto& node : region.nodes()) {
    check_deadline();
    auto whole = beginning_of(*node);
    if (!whole) continue;
    const std::vector<std::size_t> hashes = hashes_of(*whole);
    for (std::size_t parts = whole->second.size(); parts-- > 2;) {
      const auto found = seen.find(hashes[parts]);
      if (found == seen.end()) continue;
      const auto& [beginning, first] = found->second;
      if (beginning.second.size() != parts || !begins_with(*whole, beginning)) continue;
      shorten(*node, *first, parts);
      changed = true;
      break;
    }
    // One without readers is about to be removed: merge_concats would take it out of its new reader again.
    if (!node->output()->unused()) seen.try_emplace(hashes.back(), std::move(*whole), node.get());
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
