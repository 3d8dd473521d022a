#include "lower/fusion.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <lanner/error.h>

#include "graph/copy.h"
#include "graph/op.h"

namespace lanner {
namespace {

using Group = std::vector<Node*>;

bool is_static(const Node& node) {
  const auto fixed = [](const Value* value) { return !value || value->type.is_static(); };
  return std::ranges::all_of(node.inputs(), fixed) &&
         std::ranges::all_of(node.outputs(), [&](const auto& value) { return fixed(value.get()); });
}

bool fusible(const Node& node) {
  return node.op().pure && node.regions().empty() && node.outputs().size() == 1 &&
         node.kind() != "constant" && is_static(node);
}

/// The only node that reads `value`, or null when it has other uses or leaves the region.
Node* only_reader(const Value& value) {
  Node* reader = nullptr;
  for (const Use& use : value.uses()) {
    if (!use.node || (reader && reader != use.node)) return nullptr;
    reader = use.node;
  }
  return reader;
}

class Fusion {
public:
  Fusion(Graph& graph, std::span<const Backend* const> backends, const Target& target)
      : graph_(graph), backends_(backends), target_(target) {}

  void run() {
    anchors();
    elementwise();
  }

private:
  bool accepted(const Group& group, const Node& next) const {
    const std::vector<const Node*> nodes(group.begin(), group.end());
    return std::ranges::any_of(backends_, [&](const Backend* backend) {
      return backend->device() == target_.device.kind && backend->fuses(nodes, next, target_);
    });
  }

  /// Convolutions and the like take the elementwise nodes that follow, one reader after the other.
  void anchors() {
    std::set<const Node*> wrapped;
    for (Node* node : snapshot()) {
      if (wrapped.contains(node) || node->op().elementwise || !fusible(*node)) continue;
      Group group{node};
      for (;;) {
        Node* next = only_reader(*group.back()->output());
        if (!next || next->region() != node->region() || !fusible(*next) || !next->op().elementwise) break;
        if (!accepted(group, *next)) break;
        group.push_back(next);
      }
      if (group.size() == 1) continue;
      wrapped.insert(group.begin(), group.end());
      wrap(group);
    }
  }

  /// From the last node backwards: a root takes in its elementwise producers, theirs, and so on.
  void elementwise() {
    std::vector<Node*> order = snapshot();
    std::set<const Node*> taken;
    std::vector<Group> groups;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Node* root = *it;
      if (taken.contains(root) || !root->op().elementwise || !fusible(*root)) continue;
      Group group = absorb(root, taken);
      if (group.size() > 1) groups.push_back(std::move(group));
    }
    for (const Group& group : groups) wrap(group);
  }

  /// Nodes of the group of `root` in execution order, root last.
  Group absorb(Node* root, std::set<const Node*>& taken) const {
    constexpr std::size_t largest = 32;
    std::set<const Node*> members{root};
    Group found{root};
    for (std::size_t i = 0; i < found.size() && found.size() < largest; ++i) {
      for (Value* input : found[i]->inputs()) {
        Node* producer = input ? input->producer() : nullptr;
        if (!producer || members.contains(producer) || taken.contains(producer)) continue;
        if (!can_absorb(*producer, *found[i], *root, members)) continue;
        members.insert(producer);
        found.push_back(producer);
      }
    }
    taken.insert(members.begin(), members.end());
    std::ranges::reverse(found);
    return in_order(found);
  }

  bool can_absorb(const Node& producer, const Node& consumer, const Node& root,
                  const std::set<const Node*>& members) const {
    if (producer.region() != root.region() || !producer.op().elementwise || !fusible(producer)) return false;
    if (producer.output()->type.dims() != root.output()->type.dims()) return false;
    const bool inside = std::ranges::all_of(
        producer.output()->uses(), [&](const Use& use) { return use.node && members.contains(use.node); });
    return inside && accepted({const_cast<Node*>(&producer)}, consumer);
  }

  /// Sorts by dependence: a node after all members that it reads.
  static Group in_order(const Group& members) {
    Group sorted;
    std::set<const Node*> placed;
    const std::set<const Node*> all(members.begin(), members.end());
    const auto place = [&](auto&& self, Node* node) -> void {
      if (!placed.insert(node).second) return;
      for (Value* input : node->inputs())
        if (input && input->producer() && all.contains(input->producer())) self(self, input->producer());
      sorted.push_back(node);
    };
    for (Node* node : members) place(place, node);
    return sorted;
  }

  /// Replaces the group by one `fused` node in the last one's place.
  void wrap(const Group& group) {
    Node* last = group.back();
    const std::set<const Node*> members(group.begin(), group.end());
    std::vector<Value*> inputs;
    for (const Node* node : group)
      for (Value* input : node->inputs())
        if (input && !(input->producer() && members.contains(input->producer())) &&
            !std::ranges::count(inputs, input))
          inputs.push_back(input);

    Node* fused = last->region()->create(graph_.ops().get("fused"), inputs, last);
    Region& body = fused->add_region();
    std::map<const Value*, Value*> inner;
    for (Value* input : inputs)
      inner[input] = body.add_parameter(graph_.unique_name(input->name()), input->type);

    std::string kind;
    for (Node* node : group) {
      std::vector<Value*> mapped;
      for (Value* input : node->inputs()) mapped.push_back(input ? inner.at(input) : nullptr);
      Node* copy = body.create(node->op(), mapped);
      copy->attributes = node->attributes;
      copy->sources = node->sources;
      inner[node->output()] =
          copy->add_output(graph_.unique_name(node->output()->name()), node->output()->type);
      fused->sources.insert(fused->sources.end(), node->sources.begin(), node->sources.end());
      kind += (kind.empty() ? "" : "+") + node->kind();
    }
    body.add_output(inner.at(last->output()));
    fused->attributes.set("kind", kind);
    const std::string name = last->output()->name();
    Value* result = fused->add_output(graph_.unique_name(name), last->output()->type);
    last->output()->replace_all_uses(result);
    Region& region = *last->region();
    for (auto it = group.rbegin(); it != group.rend(); ++it) region.erase(*it);
    graph_.rename(result, name);
  }

  std::vector<Node*> snapshot() const {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.body().nodes()) nodes.push_back(node.get());
    return nodes;
  }

  Graph& graph_;
  std::span<const Backend* const> backends_;
  const Target& target_;
};

} // namespace

void fuse(Graph& graph, std::span<const Backend* const> backends, const Target& target) {
  Fusion(graph, backends, target).run();
}

void unfuse(Node& fused) {
  const std::vector<Value*> results = inline_region(*fused.regions().front(), fused.own_inputs(), &fused);
  fused.output()->replace_all_uses(results.front());
  fused.region()->erase(&fused);
}

} // namespace lanner
