#include "lower/propose/quantized_weights.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "graph/copy.h"
#include "graph/op.h"
#include "lower/propose/groups.h"
#include "lower/propose/quantized_groups.h"
#include "ops/definition/permutation.h"
#include "ops/definition/recipe.h"
#include "ops/elementwise/quantization.h"
#include "passes/rewriting/constant_math.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

bool is_quantized_weight(const Node& node) {
  return ops::dequantizes(node) &&
         std::ranges::all_of(node.inputs(), [](const Value* input) { return !input || input->constant(); });
}

bool is_taken(const Node& dequantize, const Node& reader, std::span<const Backend* const> backends,
              const Target& target) {
  const Node* const first = &dequantize;
  const Node* const placed = &reader;
  const Device device = placed_on({&placed, 1}, target).value_or(target.device);
  return std::ranges::any_of(backends, [&](const Backend* backend) {
    return backend->device() == device.kind && backend->fuses({&first, 1}, reader, target);
  });
}

/// Whether the reader's other operand is dequantised too, so that kernels on integers may take both. A
/// transpose between them goes before the dequantize_linear later (separate_dequantize).
bool joins_quantized(const Node& reader) {
  const Node* producer = reader.inputs().empty() || !reader.input(0) ? nullptr : reader.input(0)->producer();
  while (ops::permutation_of(producer)) producer = producer->input(0)->producer();
  return pattern_of(reader) == Pattern::contraction && producer && ops::dequantizes(*producer) &&
         !is_quantized_weight(*producer);
}

/// Nodes of a region and of regions nested in it.
void gather(const Region& region, std::vector<Node*>& found) {
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions()) gather(*inner, found);
    if (is_quantized_weight(*node)) found.push_back(node.get());
  }
}

/// The dequantised constant; null where it is too large to compute.
Value* made_real(Node& node, const WeightStore& constants) {
  const auto recipes = recipes_of_results(node);
  if (!recipes) return nullptr;
  const Recipe& recipe = recipes->front();
  const Tensor known = constants.value(recipe);
  if (!known.defined() || Type(known.dtype(), known.shape()) != node.output()->type)
    return passes::fold_node(node);
  Graph& graph = node.region()->graph();
  const std::string name = node.output()->name();
  Value* made = graph.constant(known, name, &node);
  made->producer()->sources = node.sources;
  set_recipe(*made->producer(), recipe);
  node.output()->replace_all_uses(made);
  node.region()->erase(&node);
  graph.rename(made, name);
  return made;
}

/// A graph of the group alone, in which `weight` is dequantised.
class Twin {
public:
  Twin(const NodeGroup& members, const Value& weight, const std::vector<Value*>& stored,
       const AttributeMap& attributes)
      : graph_(members.back()->region()->graph().ops(), "quantized"), copier_(graph_.body()) {
    std::vector<Value*> inputs;
    for (Value* value : stored) inputs.push_back(value ? taken_in(value) : nullptr);
    Node* dequantize = graph_.body().create(graph_.ops().get("dequantize_linear"), inputs);
    dequantize->attributes = attributes;
    copier_.map(&weight, dequantize->add_output(weight.name(), weight.type));
    for (Value* value : inputs_of(members))
      if (value != &weight) copier_.map(value, taken_in(value));
    nodes_.push_back(dequantize);
    for (const Node* member : members) nodes_.push_back(copier_.copy(*member));
    for (const Value* output : outputs_of(members)) graph_.add_output(output->name(), copier_.mapped(output));
  }

  const NodeGroup& nodes() const { return nodes_; }
  std::vector<Value*> inputs() const {
    std::vector<Value*> inputs;
    for (const Value* value : inputs_of(nodes_)) inputs.push_back(originals_.at(value));
    return inputs;
  }

private:
  Value* taken_in(Value* value) {
    const Tensor* constant = value->constant();
    Value* made = constant ? graph_.constant(*constant, value->name())
                           : graph_.add_input(graph_.unique_name(value->name()), value->type);
    made->storage = value->storage;
    originals_[made] = value;
    return made;
  }

  Graph graph_;
  NodeCopier copier_;
  NodeGroup nodes_;
  std::map<const Value*, Value*> originals_;
};

/// A proposal for `members`, which the last node of `own` represents.
Proposal of_group(std::unique_ptr<Graph> own, const NodeGroup& members) {
  Proposal proposal;
  proposal.own = std::move(own);
  proposal.node = proposal.own->body().nodes().back().get();
  proposal.members = members;
  proposal.inputs = inputs_of(members);
  proposal.outputs = outputs_of(members);
  proposal.in_first_cover = false;
  return proposal;
}

} // namespace

bool fold_weights(Graph& graph, std::span<const Backend* const> backends, const Target& target,
                  const WeightStore& constants) {
  std::vector<Node*> found;
  gather(graph.body(), found);
  bool folded = false;
  for (Node* node : found) {
    const bool taken = std::ranges::any_of(node->output()->uses(), [&](const Use& use) {
      return use.node && (joins_quantized(*use.node) || is_taken(*node, *use.node, backends, target));
    });
    folded = (!taken && made_real(*node, constants)) || folded;
  }
  return folded;
}

QuantizedWeights QuantizedWeights::of(Graph& graph, const WeightStore& constants) {
  QuantizedWeights weights;
  std::vector<Node*> found;
  for (const auto& node : graph.body().nodes())
    if (is_quantized_weight(*node)) found.push_back(node.get());
  for (Node* node : found) {
    Source source{{}, node->attributes};
    for (const Value* input : node->inputs())
      source.parts.push_back(input ? Part{*input->constant(), recipe_of(*input->producer()), input->name()}
                                   : Part{});
    const Value* made = made_real(*node, constants);
    if (!made || made->constant()->elements() == 0) continue;
    const Tensor& real = *made->constant();
    weights.sources_.emplace(real.data(), std::pair(real, std::move(source)));
  }
  return weights;
}

std::optional<Proposal> QuantizedWeights::quantized(const NodeGroup& members, const Node& reader,
                                                    const TakenTwin& taken, Parts& made) const {
  for (Value* input : reader.inputs()) {
    if (!input || !input->constant()) continue;
    const auto found = sources_.find(input->constant()->data());
    if (found == sources_.end() || found->second.first.shape() != input->constant()->shape()) continue;
    const Source& source = found->second.second;
    std::vector<Value*>& parts = made[found->first];
    for (std::size_t i = parts.size(); i < source.parts.size(); ++i) {
      const Part& part = source.parts[i];
      parts.push_back(!part.value.defined()
                          ? nullptr
                          : input->region()->graph().constant(part.value, part.name, input->producer()));
      if (parts.back()) set_recipe(*parts.back()->producer(), part.recipe);
    }
    const Twin twin(members, *input, parts, source.attributes);
    if (!taken(*twin.nodes()[0], *twin.nodes()[1])) return std::nullopt;
    Proposal proposal = of_group(alone(twin.nodes()), members);
    proposal.inputs = twin.inputs();
    return proposal;
  }
  return std::nullopt;
}

void QuantizedWeights::propose(std::vector<Proposal>& proposals, Graph& graph,
                               const LowerOptions& options) const {
  Parts parts;
  std::vector<Proposal> found;
  const auto taken = [&](const Node& dequantize, const Node& next) {
    return is_taken(dequantize, next, options.backends, options.target);
  };
  const auto any = [](const Node&, const Node&) { return true; };
  const auto add = [&](std::optional<Proposal> made) {
    if (made) found.push_back(std::move(*made));
  };
  for (const Proposal& like : proposals) {
    const Node& first = *like.members.front();
    if (sources_.empty() || like.promoted || !first.regions().empty()) continue;
    add(quantized(like.members, first, taken, parts));
  }
  const std::size_t twins = found.size();
  std::vector<const Node*> contractions(twins);
  for (const QuantizedGroup& group : quantized_groups(graph, options.target)) {
    add(group.of_values ? of_group(alone(group.members), group.members)
                        : quantized(group.members, *group.contraction, any, parts));
    contractions.resize(found.size(), group.contraction);
  }
  const std::map<const Node*, std::size_t> order = execution_order(graph);
  std::set<const Node*> offered, covered;
  std::vector<Proposal> timed;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Proposal& made = found[i];
    made.overwritable = overwritable_inputs(made, order, options.callers);
    ask_for(made, options);
    if (made.list.empty()) continue;
    // The largest group of each contraction belongs to the first cover, in place of what it holds: the budget
    // goes to kernels for integers first.
    made.in_first_cover = i >= twins && offered.insert(contractions[i]).second;
    if (made.in_first_cover) covered.insert(made.members.begin(), made.members.end());
    (made.in_first_cover ? timed : proposals).push_back(std::move(made));
  }
  for (Proposal& proposal : proposals)
    if (std::ranges::any_of(proposal.members, [&](const Node* node) { return covered.contains(node); }))
      proposal.in_first_cover = false;
  proposals.insert(proposals.begin(), std::make_move_iterator(timed.begin()),
                   std::make_move_iterator(timed.end()));
  std::stable_partition(proposals.begin(), proposals.end(),
                        [](const Proposal& one) { return one.in_first_cover; });
}

} // namespace lanner
