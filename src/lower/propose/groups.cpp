#include "lower/propose/groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include <lanner/error.h>

#include "base/limits/account.h"
#include "graph/copy.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "ops/movement/movement_rules.h"
#include "program/lowered/precision.h"

namespace lanner {
namespace {

using NodeSet = std::set<const Node*>;
using Positions = std::map<const Node*, std::size_t>;

bool is_static(const Node& node) {
  const auto fixed = [](const Value* value) { return !value || value->type.is_static(); };
  return std::ranges::all_of(node.inputs(), fixed) &&
         std::ranges::all_of(node.outputs(), [&](const auto& value) { return fixed(value.get()); });
}

/// Whether the node may be part of a group that a backend proposes.
bool may_join(const Node& node) {
  return node.op().pure && !is_constant(node) && is_static(node);
}

/// Whether fuses() is asked about the node.
bool fusible(const Node& node) {
  constexpr std::size_t most_inputs = 64; // backends are asked about it with each of its producers
  return node.inputs().size() <= most_inputs && node.outputs().size() == 1 && node.regions().empty() &&
         may_join(node);
}

/// Whether it computes element by element: quantize_linear and dequantize_linear too, whose scales along an
/// axis do not broadcast as operands do.
bool is_step(const Node& node) {
  return node.op().elementwise || pattern_of(node) == Pattern::elementwise;
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

/// Sorts by dependence: a node after all members that it reads.
NodeGroup in_order(const NodeGroup& members) {
  NodeGroup sorted;
  NodeSet placed;
  const NodeSet all(members.begin(), members.end());
  const auto append = [&](auto&& self, Node* node) -> void {
    if (!placed.insert(node).second) return;
    for (Value* input : node->inputs())
      if (input && input->producer() && all.contains(input->producer())) self(self, input->producer());
    sorted.push_back(node);
  };
  for (Node* node : members) append(append, node);
  return sorted;
}

/// Whether all readers outside of a group come after the group's last node.
bool read_after(const Value& value, const NodeSet& members, const Node& last, const Positions& positions) {
  const std::size_t position = positions.at(&last);
  return std::ranges::all_of(value.uses(), [&](const Use& use) {
    return !use.node || members.contains(use.node) || positions.at(use.node) > position;
  });
}

class Proposer {
public:
  Proposer(Graph& graph, std::span<const Backend* const> backends, const Target& target)
      : backends_(backends), target_(target) {
    for (const auto& node : graph.body().nodes()) {
      positions_[node.get()] = all_.size();
      all_.push_back(node.get());
      if (fusible(*node)) nodes_.push_back(node.get());
    }
  }

  std::vector<ProposedGroup> run() {
    NodeSet taken;
    for (Node* node : nodes_) {
      check_deadline();
      if (!is_step(*node)) chains(*node, taken);
    }
    std::map<const Node*, std::vector<std::size_t>> chains_of;
    for (std::size_t i = 0; i < found_.size(); ++i)
      for (const Node* node : found_[i].nodes) chains_of[node].push_back(i);
    for (NodeGroup& group : trees(taken)) add(std::move(group), true);
    for (const NodeGroup& whole : trees({})) {
      check_deadline();
      std::set<std::size_t> crossing;
      for (const Node* node : whole)
        if (const auto found = chains_of.find(node); found != chains_of.end())
          crossing.insert(found->second.begin(), found->second.end());
      for (const std::size_t i : crossing) leftovers(whole, NodeGroup(found_[i].nodes));
      add(NodeGroup(whole), false);
    }
    for (Node* root : nodes_) {
      check_deadline();
      if (is_step(*root)) add_shared(tree(*root, {}, true));
    }
    for (const Node* node : all_)
      if (may_join(*node)) ask_backends(*node);
    return std::move(found_);
  }

private:
  bool accepted(const NodeGroup& group, const Node& next) const {
    std::vector<const Node*> nodes(group.begin(), group.end());
    nodes.push_back(&next);
    const std::optional<Target> own = target_for(nodes, target_);
    nodes.pop_back();
    return own && std::ranges::any_of(backends_, [&](const Backend* backend) {
             return backend->device() == own->device.kind && backend->fuses(nodes, next, *own);
           });
  }

  void add(NodeGroup group, bool in_first_cover, bool by_backend = false) {
    if (group.size() > 1 && known_.insert(group).second)
      found_.push_back({std::move(group), in_first_cover, by_backend});
  }

  /// Bounds the groups per node: in chains of steps (parallel recurrent cells) each node would be in as many
  /// groups as it has successors, and the solver would compare each with each.
  void add_shared(NodeGroup group) {
    constexpr int most = 2;
    if (std::ranges::any_of(group, [&](const Node* node) { return shared_[node] >= most; })) return;
    for (const Node* node : group) ++shared_[node];
    add(std::move(group), false);
  }

  /// `anchor` with the chain of elementwise nodes that follow. Nodes of an earlier anchor are in the first
  /// cover already.
  void chains(Node& anchor, NodeSet& taken) {
    constexpr std::size_t longest = 32; // each length is a group of its own
    NodeGroup chain{&anchor};
    for (Node* next = only_reader(*anchor.output());
         next && chain.size() < longest && next->region() == anchor.region() && fusible(*next) &&
         is_step(*next) && accepted(chain, *next);
         next = only_reader(*next->output()))
      chain.push_back(next);
    std::size_t free = 1;
    while (free < chain.size() && !taken.contains(chain[free])) ++free;
    if (free > 1) taken.insert(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(free));
    for (std::size_t size = chain.size(); size > 1; --size)
      add(NodeGroup(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(size)), size == free);
  }

  /// From the last node backwards: a root takes in its elementwise producers, theirs, and so on.
  std::vector<NodeGroup> trees(NodeSet taken) const {
    std::vector<NodeGroup> groups;
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      check_deadline();
      if (!is_step(**it) || taken.contains(*it)) continue;
      NodeGroup group = tree(**it, taken);
      taken.insert(group.begin(), group.end());
      if (group.size() > 1) groups.push_back(std::move(group));
    }
    return groups;
  }

  /// Groups of the nodes of `whole` that `chain` leaves over.
  void leftovers(const NodeGroup& whole, const NodeGroup& chain) {
    NodeSet taken(chain.begin(), chain.end());
    for (auto it = whole.rbegin(); it != whole.rend(); ++it) {
      if (taken.contains(*it)) continue;
      NodeGroup left = tree(**it, taken);
      taken.insert(left.begin(), left.end());
      add(std::move(left), false);
    }
  }

  /// Nodes of the tree of `root` in execution order, root last. `shared`: with values that others read later
  /// as well, and empty where there is none.
  NodeGroup tree(Node& root, const NodeSet& taken, bool shared = false) const {
    const std::size_t largest = shared ? 8 : 32;
    NodeSet members{&root};
    NodeGroup found{&root};
    for (std::size_t i = 0; i < found.size() && found.size() < largest; ++i) {
      for (Value* input : found[i]->inputs()) {
        Node* producer = input ? input->producer() : nullptr;
        if (!producer || members.contains(producer) || taken.contains(producer)) continue;
        if (!can_absorb(*producer, *found[i], root)) continue;
        if (shared ? !read_after(*producer->output(), members, root, positions_)
                   : !read_within(*producer->output(), members))
          continue;
        members.insert(producer);
        found.push_back(producer);
      }
    }
    std::ranges::reverse(found);
    NodeGroup group = in_order(found);
    return shared && outputs_of(group).size() == 1 ? NodeGroup{} : group;
  }

  bool can_absorb(Node& producer, const Node& consumer, const Node& root) const {
    return producer.region() == root.region() && is_step(producer) && fusible(producer) &&
           producer.output()->type.dims() == root.output()->type.dims() && accepted({&producer}, consumer);
  }

  static bool read_within(const Value& value, const NodeSet& members) {
    return std::ranges::all_of(value.uses(),
                               [&](const Use& use) { return use.node && members.contains(use.node); });
  }

  /// Adds groups that only the backends know (Backend::propose).
  void ask_backends(const Node& anchor) {
    const std::array one{&anchor};
    const std::optional<Target> own = target_for(one, target_);
    if (!own) return;
    for (const Backend* backend : backends_) {
      if (backend->device() != own->device.kind) continue;
      for (const std::vector<const Node*>& nodes : backend->propose(anchor, *own))
        if (NodeGroup group = as_group(nodes); !group.empty()) add(std::move(group), false, true);
    }
  }

  /// The nodes in execution order; empty where they cannot run as one in the last one's position.
  NodeGroup as_group(const std::vector<const Node*>& nodes) const {
    NodeGroup group;
    for (const Node* node : nodes) {
      if (!positions_.contains(node) || !may_join(*node)) return {};
      group.push_back(all_[positions_.at(node)]);
    }
    std::ranges::sort(group, {}, [&](const Node* node) { return positions_.at(node); });
    const NodeSet members(group.begin(), group.end());
    if (members.size() != group.size() || !target_for(nodes, target_)) return {};
    return may_run_as_one(group, positions_) && types_stay(group) ? group : NodeGroup{};
  }

  /// Whether types can still be inferred within a group, where constants are parameters and so give no sizes.
  static bool types_stay(const NodeGroup& group) {
    const auto own = alone(group);
    const Region& body = *own->body().nodes().back()->regions().front();
    return std::ranges::all_of(body.nodes(), [](const auto& node) { return types_follow(*node); });
  }

  std::span<const Backend* const> backends_;
  const Target& target_;
  std::vector<Node*> all_;   ///< In execution order.
  std::vector<Node*> nodes_; ///< Of them those that fuses() may be asked about.
  Positions positions_;
  std::map<const Node*, int> shared_; ///< Groups with several outputs that a node is in.
  std::vector<ProposedGroup> found_;
  std::set<NodeGroup> known_;
};

/// Whether a member takes its result's size from `value`: such a constant stays within the group, as a
/// parameter would lose the value.
bool gives_sizes(const Value& value, const Node& reader) {
  const Tensor* constant = value.constant();
  return constant && constant->dtype() == DType::i64 && constant->shape().elements() <= max_known_elements &&
         !reader.op().elementwise;
}

/// The constants that stay within a group, by first use.
std::vector<const Value*> sizes_within(const NodeGroup& group) {
  std::vector<const Value*> sizes;
  for (const Node* node : group)
    for (const Value* input : node->inputs())
      if (input && gives_sizes(*input, *node) && !std::ranges::count(sizes, input)) sizes.push_back(input);
  return sizes;
}

/// Name of a group for people: `matmul+softmax+matmul`. Nodes that only move elements are left out if others
/// compute.
std::string kind_of(const NodeGroup& group) {
  const auto moves = [](const Node* node) { return ops::moves_elements(*node) || ops::is_renamed(*node); };
  const bool all = std::ranges::all_of(group, moves);
  std::string kind;
  for (const Node* node : group)
    if (all || !moves(node)) kind += (kind.empty() ? "" : "+") + node->kind();
  return kind;
}

/// Each source once: a layer that is a product and a sum here is one node of the model.
void add_sources(Node& fused, const Node& node) {
  for (const std::string& source : node.sources)
    if (std::ranges::find(fused.sources, source) == fused.sources.end()) fused.sources.push_back(source);
}

/// A `fused` node that does what the group does on `inputs`.
Node* make_fused(Graph& graph, const NodeGroup& group, const std::vector<Value*>& inputs) {
  const std::vector<Value*> read = inputs_of(group);
  Node* fused = graph.body().create(graph.ops().get("fused"), inputs);
  Region& body = fused->add_region();
  NodeCopier copier(body);
  for (const Value* input : read)
    copier.map(input, body.add_parameter(graph.unique_name(input->name()), input->type));
  for (const Value* size : sizes_within(group)) copier.copy(*size->producer());
  for (const Node* node : group) {
    copier.copy(*node);
    add_sources(*fused, *node);
  }
  fused->attributes.set("kind", kind_of(group));
  for (const Value* output : outputs_of(group)) {
    body.add_output(copier.mapped(output));
    fused->add_output(graph.unique_name(output->name()), output->type);
  }
  return fused;
}

} // namespace

std::vector<ProposedGroup> proposed_groups(Graph& graph, std::span<const Backend* const> backends,
                                           const Target& target) {
  return Proposer(graph, backends, target).run();
}

bool may_run_as_one(const NodeGroup& group, const std::map<const Node*, std::size_t>& order) {
  const NodeSet members(group.begin(), group.end());
  return std::ranges::all_of(group, [&](const Node* node) {
    return std::ranges::all_of(node->outputs(), [&](const auto& output) {
      return read_after(*output, members, *group.back(), order);
    });
  });
}

std::vector<Value*> inputs_of(const NodeGroup& group) {
  const NodeSet members(group.begin(), group.end());
  std::vector<Value*> inputs;
  for (const Node* node : group)
    for (Value* input : node->inputs())
      if (input && !(input->producer() && members.contains(input->producer())) &&
          !gives_sizes(*input, *node) && !std::ranges::count(inputs, input))
        inputs.push_back(input);
  return inputs;
}

std::unique_ptr<Graph> alone(const NodeGroup& group) {
  auto graph = std::make_unique<Graph>(group.back()->region()->graph().ops(), "group");
  std::vector<Value*> inputs;
  for (const Value* value : inputs_of(group)) {
    const Tensor* constant = value->constant();
    inputs.push_back(constant ? graph->constant(*constant, value->name())
                              : graph->add_input(value->name(), value->type));
    inputs.back()->storage = value->storage;
  }
  const Node* fused = make_fused(*graph, group, inputs);
  for (const auto& output : fused->outputs()) graph->add_output(output->name(), output.get());
  return graph;
}

std::vector<Value*> outputs_of(const NodeGroup& group) {
  const NodeSet members(group.begin(), group.end());
  std::vector<Value*> outputs{group.back()->output()};
  const auto outside = [&](const Use& use) { return !use.node || !members.contains(use.node); };
  for (const Node* node : group)
    for (const auto& output : node->outputs())
      if (output.get() != outputs.front() && std::ranges::any_of(output->uses(), outside))
        outputs.push_back(output.get());
  return outputs;
}

Node* replace(const NodeGroup& group, const Node& node, std::span<Value* const> inputs) {
  Node* last = group.back();
  Region& region = *last->region();
  std::vector<Value*> outputs;
  if (group.size() > 1)
    outputs = outputs_of(group);
  else
    for (const auto& output : last->outputs()) outputs.push_back(output.get());
  NodeCopier copier(region, last);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) copier.map(node.input(i), inputs[i]);
  Node* made = copier.copy(node);
  std::vector<std::string> names;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    names.push_back(outputs[o]->name());
    outputs[o]->replace_all_uses(made->output(o));
  }
  for (auto it = group.rbegin(); it != group.rend(); ++it) region.erase(*it);
  for (std::size_t o = 0; o < outputs.size(); ++o) region.graph().rename(made->output(o), names[o]);
  return made;
}

} // namespace lanner
