#include "lower/lower.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <lanner/error.h>

#include "graph/op.h"
#include "graph/verifier.h"
#include "lower/alternatives.h"
#include "lower/assign.h"
#include "lower/fusion.h"
#include "lower/widen.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

/// Where the alternatives of a value's producer stand in the assignment problem.
using NodeNumbers = std::map<const Node*, std::size_t>;

class Lowering {
public:
  Lowering(Graph& graph, const LowerOptions& options)
      : graph_(graph), options_(options), reorder_costs_(graph, options) {}

  std::vector<NodeReport> run() {
    prepare_to_lower(graph_, options_);
    entries_ = collect_alternatives(graph_, options_);
    apply(vetted_choice());
    settle_outputs();
    drop_unused_constants();
    verify(graph_);
    return std::move(reports_);
  }

private:
  /// The cheapest choice of tactics that are right: each that is taken is checked where it was not yet.
  std::vector<std::size_t> vetted_choice() {
    for (;;) {
      std::vector<std::size_t> choice = assign(problem());
      bool right = true;
      for (std::size_t i = 0; i < entries_.size(); ++i) right = vet(entries_[i], choice[i]) && right;
      if (right) return choice;
    }
  }

  bool vet(NodeAlternatives& entry, std::size_t chosen) {
    Alternative& alternative = entry.list[chosen];
    if (!alternative.backend || alternative.cost.trust != Trust::none) return true;
    const Cost cost = options_.tuner.vet(*entry.node, *alternative.backend, alternative.tactic);
    if (cost.wrong.empty()) {
      alternative.cost.trust = cost.trust;
      return true;
    }
    reject(entry, chosen, cost.wrong, options_);
    return false;
  }

  AssignmentProblem problem() {
    AssignmentProblem problem;
    NodeNumbers numbers;
    for (const NodeAlternatives& entry : entries_) {
      numbers[entry.node] = problem.nodes.size();
      std::vector<double>& costs = problem.nodes.emplace_back();
      for (const Alternative& alternative : entry.list) costs.push_back(alternative.cost.seconds);
    }
    for (std::size_t to = 0; to < entries_.size(); ++to) add_edges(problem, numbers, to);
    return problem;
  }

  void add_edges(AssignmentProblem& problem, const NodeNumbers& numbers, std::size_t to) {
    const NodeAlternatives& reader = entries_[to];
    for (std::size_t i = 0; i < reader.node->inputs().size(); ++i) {
      const Value* value = reader.node->inputs()[i];
      if (!value || value->constant()) continue; // packed ahead, at no cost
      const auto producer = value->producer() ? numbers.find(value->producer()) : numbers.end();
      if (producer == numbers.end()) {
        for (std::size_t b = 0; b < reader.list.size(); ++b)
          problem.nodes[to][b] += reorder_costs_.from_caller(value->type, reader.list[b].tactic.inputs[i]);
        continue;
      }
      const NodeAlternatives& writer = entries_[producer->second];
      std::vector<double> costs;
      for (const Alternative& from : writer.list)
        for (const Alternative& into : reader.list)
          costs.push_back(
              reorder_costs_(value->type, from.tactic.outputs[value->index()], into.tactic.inputs[i]));
      problem.edges.push_back({producer->second, to, std::move(costs)});
    }
    for (const auto& output : reader.node->outputs())
      if (leaves(*output))
        for (std::size_t a = 0; a < reader.list.size(); ++a)
          problem.nodes[to][a] +=
              reorder_costs_.to_caller(output->type, reader.list[a].tactic.outputs[output->index()]);
  }

  static bool leaves(const Value& value) {
    return std::ranges::any_of(value.uses(), [](const Use& use) { return use.node == nullptr; });
  }

  void apply(const std::vector<std::size_t>& choice) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      NodeAlternatives& entry = entries_[i];
      if (options_.observe) options_.observe(entry, choice[i]);
      const Alternative& chosen = entry.list[choice[i]];
      Node& node = *entry.node;
      for (std::size_t k = 0; k < node.inputs().size(); ++k)
        if (Value* value = node.inputs()[k]) node.set_input(k, stored(value, chosen.tactic.inputs[k], &node));
      for (std::size_t k = 0; k < node.outputs().size(); ++k)
        node.output(k)->storage = chosen.tactic.outputs[k];
      set_tactic(node, chosen);
      report(entry, choice[i]);
    }
  }

  static void set_tactic(Node& node, const Alternative& chosen) {
    node.tactic.backend = chosen.backend ? std::string(chosen.backend->name()) : chosen.tactic.kernel;
    node.tactic.kernel = chosen.tactic.kernel;
    node.tactic.config = chosen.tactic.config;
    node.tactic.seconds = chosen.cost.measured ? chosen.cost.seconds : 0;
  }

  void report(const NodeAlternatives& entry, std::size_t chosen) {
    NodeReport report{entry.node->output()->name(), {}, entry.notes};
    for (std::size_t a = 0; a < entry.list.size(); ++a) {
      const Alternative& alternative = entry.list[a];
      const std::string in =
          alternative.tactic.inputs.empty() ? "" : alternative.tactic.inputs[0].to_string() + " -> ";
      report.considered.push_back(
          {alternative.backend ? std::string(alternative.backend->name()) : "", alternative.tactic.kernel,
           in + alternative.tactic.outputs.at(0).to_string(), alternative.cost.seconds,
           alternative.cost.measured, a == chosen, alternative.cost.trust});
    }
    std::ranges::stable_sort(report.considered, {}, &Considered::seconds);
    reports_.push_back(std::move(report));
  }

  /// `value` in the storage asked for: itself, a packed constant, or the result of a reorder before `reader`.
  Value* stored(Value* value, const Storage& storage, Node* reader) {
    if (!value->type.is_static() || same_storage(value->type, value->storage, storage)) return value;
    if (const Storage middle = on_the_way(value->type, value->storage, storage);
        !value->constant() && !same_storage(value->type, middle, value->storage) &&
        !same_storage(value->type, middle, storage))
      value = stored(value, middle, reader);
    Value*& made = stored_[{value, storage.to_string()}];
    if (made) return made;
    if (const Tensor* constant = value->constant()) {
      made = graph_.constant(options_.constants.get(*constant, storage), value->name(), value->producer());
      made->type = value->type;
      made->producer()->sources = value->producer()->sources;
    } else {
      made = graph_.emit("reorder", std::vector<Value*>{value}, {}, value->type, value->name(), reader);
    }
    made->storage = storage;
    if (!made->constant()) choose_reorder(*made->producer());
    return made;
  }

  void choose_reorder(Node& reorder) {
    const auto best = vetted_reorder(reorder, options_);
    NodeReport report{reorder.output()->name(), {}, {}};
    if (best) {
      set_tactic(reorder, *best);
      report.considered.push_back(
          {std::string(best->backend->name()), best->tactic.kernel,
           reorder.input(0)->storage.to_string() + " -> " + reorder.output()->storage.to_string(),
           best->cost.seconds, best->cost.measured, true, best->cost.trust});
    } else {
      reorder.tactic.backend = reorder.tactic.kernel = interpreter_backend;
    }
    reports_.push_back(std::move(report));
  }

  /// Every output is a row-major value of its own on the target's device that a kernel writes: copies stand
  /// in for inputs, constants and second uses of one memory.
  void settle_outputs() {
    Region& body = graph_.body();
    std::map<const Value*, std::size_t> roots;
    for (std::size_t i = 0; i < body.outputs().size(); ++i) {
      Value* value = body.outputs()[i];
      if (!is_planned(*value)) continue;
      const Value* root = value;
      while (root->producer() && root->producer()->tactic.backend == alias_backend)
        root = root->producer()->input(0);
      const bool written = root->producer() && !root->constant() &&
                           root->producer()->tactic.backend != interpreter_backend &&
                           same_storage(value->type, value->storage, options_.target.storage());
      if (written && roots.emplace(root, i).second) continue;
      const std::string name = value->name() + ".out";
      const Storage wanted = options_.target.storage();
      const Storage middle = on_the_way(value->type, value->storage, wanted);
      if (!same_storage(value->type, middle, wanted)) value = stored(value, middle, nullptr);
      Value* copy = graph_.emit("reorder", std::vector<Value*>{value}, {}, value->type, name);
      copy->storage = wanted;
      choose_reorder(*copy->producer());
      body.set_output(i, copy);
    }
  }

  void drop_unused_constants() {
    std::vector<Node*> unused;
    for (const auto& node : graph_.body().nodes())
      if (node->kind() == "constant" && node->output()->unused()) unused.push_back(node.get());
    for (Node* node : unused) graph_.body().erase(node);
  }

  Graph& graph_;
  const LowerOptions& options_;
  ReorderCosts reorder_costs_;
  std::vector<NodeAlternatives> entries_;
  std::vector<NodeReport> reports_;
  std::map<std::pair<const Value*, std::string>, Value*> stored_;
};

} // namespace

void prepare_to_lower(Graph& graph, const LowerOptions& options) {
  for (const auto& parameter : graph.body().parameters())
    if (is_planned(*parameter)) parameter->storage = options.target.storage();
  widen_halves(graph, options.target);
  fuse(graph, options.backends, options.target);
}

Lowered lower(std::unique_ptr<Graph> graph, const LowerOptions& options) {
  std::vector<NodeReport> reports = Lowering(*graph, options).run();
  return {std::move(graph), std::move(reports)};
}

} // namespace lanner
