#include "lower/alternatives.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "backends/storage_layout.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "lower/fusion.h"
#include "lower/tuning.h"
#include "lower/vouched.h"
#include "ops/expansion.h"
#include "passes/permutation.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

bool all_planned(const Node& node) {
  return std::ranges::all_of(node.inputs(),
                             [](const Value* value) { return !value || is_planned(*value); }) &&
         std::ranges::all_of(node.outputs(), [](const auto& value) { return is_planned(*value); });
}

Alternative without_kernel(const Node& node, const char* how, const Storage& storage = {}) {
  Alternative alternative;
  alternative.tactic.kernel = how;
  alternative.tactic.inputs.assign(node.inputs().size(), storage);
  alternative.tactic.outputs.assign(node.outputs().size(), storage);
  return alternative;
}

/// A node that is left without a way of running it runs by its definition.
void fall_back(NodeAlternatives& entry, const LowerOptions& options) {
  if (entry.list.empty()) entry.list = std::exchange(entry.reserve, {});
  if (!entry.list.empty()) return;
  for (const Backend* backend : options.backends) {
    if (!is_definition(*backend)) continue;
    for (Tactic& tactic :
         backend->tactics(*entry.node, options.target.for_device(backend->device())).tactics) {
      const double estimate = tactic.estimate;
      entry.list.push_back({backend, std::move(tactic), {estimate}});
    }
  }
  if (entry.list.empty()) entry.list.push_back(without_kernel(*entry.node, interpreter_backend));
}

class Collector {
public:
  Collector(Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}

  std::vector<NodeAlternatives> offered() {
    const Region::Nodes& nodes = graph_.body().nodes();
    for (auto it = nodes.begin(); it != nodes.end();) {
      Node& node = **it;
      ++it;
      if (node.kind() == "constant") continue;
      offer(node);
    }
    // Bodies that were taken apart put nodes where the walk had been: bring the answers into execution order.
    order_ = execution_order(graph_);
    std::ranges::sort(found_, {}, [&](const NodeAlternatives& entry) { return order_.at(entry.node); });
    for (NodeAlternatives& entry : found_) remove_overwriting(entry);
    return std::move(found_);
  }

  std::vector<NodeAlternatives> timed() {
    found_ = offered();
    if (options_.like)
      for (NodeAlternatives& entry : found_) keep_chosen(entry);
    time_alternatives(found_, options_, [this](NodeAlternatives& entry) { search(entry); });
    return std::move(found_);
  }

private:
  Target for_backend(const Backend& backend) const { return options_.target.for_device(backend.device()); }

  void offer(Node& node) {
    if (!all_planned(node) || node.captures() > 0)
      return add(node, {without_kernel(node, interpreter_backend)}, {});
    if (is_alias(node) && node.op().view) return add(node, aliases(node), {});
    std::vector<Alternative> list;
    std::vector<std::string> notes;
    for (const Backend* backend : options_.backends) {
      // A definition is slow: it is for what nothing else runs.
      if (is_definition(*backend) && !list.empty()) break;
      TacticList offered = reachable_tactics(*backend, node, options_.target);
      if (!offered.reason.empty()) notes.push_back(fmt::format("{}: {}", backend->name(), offered.reason));
      for (Tactic& tactic : offered.tactics) list.push_back({backend, std::move(tactic), {}});
      // What a GPU can run stays there; the host's kernels are for the rest.
      if (!list.empty() && backend->device() != DeviceKind::cpu) break;
    }
    std::ranges::move(aliases(node), std::back_inserter(list));
    if (!list.empty()) return add(node, std::move(list), std::move(notes));
    if (node.kind() == "fused") return take_apart(node);
    if (node.op().expand) return expand(node);
    add(node, {without_kernel(node, interpreter_backend)}, std::move(notes));
  }

  std::vector<Alternative> aliases(const Node& node) const {
    std::vector<Alternative> list;
    const auto add_on = [&](const Storage& plain) {
      for (auto& [from, to] : alias_storages(node, plain)) {
        Alternative alternative = without_kernel(node, alias_backend);
        alternative.tactic.inputs[0] = std::move(from);
        alternative.tactic.outputs[0] = std::move(to);
        list.push_back(std::move(alternative));
      }
    };
    add_on({});
    if (!options_.target.device.is_host()) add_on(options_.target.storage());
    return list;
  }

  void take_apart(Node& fused) {
    const std::vector<Node*> fresh = inserted_before(fused, [&] { unfuse(fused); });
    for (Node* node : fresh) offer(*node);
  }

  void expand(Node& node) {
    const std::vector<Node*> fresh = inserted_before(node, [&] { expand_node(node); });
    infer_types(graph_);
    for (Node* inner : fresh)
      if (inner->kind() != "constant") offer(*inner);
  }

  /// Runs `change`, which replaces `node` by new nodes in its place, and returns these.
  template<typename Change>
  std::vector<Node*> inserted_before(Node& node, Change change) {
    const Region::Nodes& nodes = node.region()->nodes();
    auto at = std::ranges::find_if(nodes, [&](const auto& other) { return other.get() == &node; });
    const bool first = at == nodes.begin();
    const auto before = first ? nodes.end() : std::prev(at);
    const auto after = std::next(at);
    change();
    std::vector<Node*> fresh;
    for (auto it = first ? nodes.begin() : std::next(before); it != after; ++it) fresh.push_back(it->get());
    return fresh;
  }

  void add(Node& node, std::vector<Alternative> list, std::vector<std::string> notes) {
    check_complete(node, list);
    for (Alternative& alternative : list) alternative.cost.seconds = alternative.tactic.estimate;
    found_.push_back({&node, std::move(list), std::move(notes)});
  }

  static void check_complete(const Node& node, const std::vector<Alternative>& list) {
    for (const Alternative& alternative : list)
      check(alternative.tactic.inputs.size() == node.inputs().size() &&
                alternative.tactic.outputs.size() == node.outputs().size(),
            ErrorCode::internal, "tactic {} of {} does not give a storage for each value",
            alternative.tactic.kernel, node.label());
  }

  void remove_overwriting(const Node& node, std::vector<Alternative>& list) const {
    std::erase_if(list, [&](const Alternative& alternative) {
      const Tactic& tactic = alternative.tactic;
      if (!tactic.required_in_place) return false;
      const auto i = static_cast<std::size_t>(tactic.in_place);
      return !may_overwrite(node, i, order_) || storage_bytes(*node.input(i), tactic.inputs.at(i)) !=
                                                    storage_bytes(*node.output(), tactic.outputs.at(0));
    });
  }

  void remove_overwriting(NodeAlternatives& entry) const {
    remove_overwriting(*entry.node, entry.list);
    fall_back(entry, options_);
  }

  /// Where the same node of another lowered graph has a tactic that is offered here too, it is taken over.
  static bool same_choice(const Alternative& alternative, const Node& model, bool exactly) {
    if (!alternative.backend || alternative.backend->name() != model.tactic.backend) return false;
    if (alternative.tactic.kernel != model.tactic.kernel ||
        (exactly && alternative.tactic.config != model.tactic.config))
      return false;
    return alternative.tactic.outputs.at(0).to_string() == model.output()->storage.to_string();
  }

  void keep_chosen(NodeAlternatives& entry) const {
    const Value* value = options_.like->find(entry.node->output()->name());
    const Node* model = value ? value->producer() : nullptr;
    if (!model || model->kind() != entry.node->kind()) return;
    if (std::ranges::none_of(entry.list,
                             [&](const Alternative& one) { return same_choice(one, *model, true); }))
      for (const Backend* backend : backends_of(entry))
        if (backend->name() == model->tactic.backend)
          append(entry, *backend, backend->more_tactics(*entry.node, for_backend(*backend)));
    for (const bool exactly : {true, false}) {
      const auto found = std::ranges::find_if(
          entry.list, [&](const Alternative& one) { return same_choice(one, *model, exactly); });
      if (found == entry.list.end()) continue;
      Alternative kept = std::move(*found);
      entry.list.erase(found);
      entry.reserve = std::exchange(entry.list, {});
      entry.list.push_back(std::move(kept));
      return;
    }
  }

  /// Each backend that offers something for a node, once.
  static std::vector<const Backend*> backends_of(const NodeAlternatives& entry) {
    std::vector<const Backend*> list;
    for (const Alternative& alternative : entry.list)
      if (alternative.backend && std::ranges::find(list, alternative.backend) == list.end())
        list.push_back(alternative.backend);
    return list;
  }

  void append(NodeAlternatives& entry, const Backend& backend, TacticList offered) const {
    std::vector<Alternative> list;
    for (Tactic& tactic : offered.tactics) {
      const double estimate = tactic.estimate;
      list.push_back({&backend, std::move(tactic), {estimate}});
    }
    check_complete(*entry.node, list);
    remove_overwriting(*entry.node, list);
    std::ranges::move(list, std::back_inserter(entry.list));
  }

  /// What backends find for a node by a search.
  void search(NodeAlternatives& entry) const {
    for (const Backend* backend : backends_of(entry))
      append(entry, *backend, options_.tuner.more_tactics(*entry.node, *backend));
  }

  Graph& graph_;
  const LowerOptions& options_;
  std::vector<NodeAlternatives> found_;
  std::map<const Node*, std::size_t> order_;
};

} // namespace

/// Kernels of the host see values of the host only.
TacticList reachable_tactics(const Backend& backend, const Node& node, const Target& target, bool more) {
  const Target own = target.for_device(backend.device());
  TacticList offered = more ? backend.more_tactics(node, own) : backend.tactics(node, own);
  if (backend.device() != DeviceKind::cpu) return offered;
  const auto far = [](const Storage& storage) { return !storage.device.is_host(); };
  std::erase_if(offered.tactics, [&](const Tactic& tactic) {
    return std::ranges::any_of(tactic.inputs, far) || std::ranges::any_of(tactic.outputs, far);
  });
  return offered;
}

std::unique_ptr<Graph> reorder_graph(const OpTable& ops, const Type& type, const Storage& from,
                                     const Storage& to) {
  auto graph = std::make_unique<Graph>(ops, "reorder");
  Value* input = graph->add_input("x", type);
  input->storage = from;
  Value* output = graph->emit("reorder", std::vector<Value*>{input}, {}, type, "y");
  output->storage = to;
  graph->add_output("y", output);
  return graph;
}

std::vector<NodeAlternatives> collect_alternatives(Graph& graph, const LowerOptions& options) {
  return Collector(graph, options).timed();
}

std::vector<NodeAlternatives> offered_alternatives(Graph& graph, const LowerOptions& options) {
  return Collector(graph, options).offered();
}

/// Cheapest first.
static std::vector<Alternative> reorders(const Node& reorder, const LowerOptions& options) {
  std::vector<Alternative> list;
  double best = std::numeric_limits<double>::infinity();
  for (const Backend* backend : options.backends) {
    if (is_definition(*backend) && !list.empty()) break;
    for (Tactic& tactic : reachable_tactics(*backend, reorder, options.target).tactics) {
      if (!same_storage(reorder.input(0)->type, tactic.inputs.at(0), reorder.input(0)->storage)) continue;
      if (!same_storage(reorder.output()->type, tactic.outputs.at(0), reorder.output()->storage)) continue;
      Cost cost = options.tuner.cost(reorder, *backend, tactic, best, options.tuner.budget());
      if (!cost.wrong.empty()) continue;
      best = std::min(best, cost.seconds);
      list.push_back({backend, std::move(tactic), std::move(cost)});
    }
  }
  std::ranges::stable_sort(list, {}, [](const Alternative& one) { return one.cost.seconds; });
  return list;
}

std::optional<Alternative> best_reorder(const Node& reorder, const LowerOptions& options) {
  std::vector<Alternative> list = reorders(reorder, options);
  return list.empty() ? std::nullopt : std::optional(std::move(list.front()));
}

std::optional<Alternative> vetted_reorder(const Node& reorder, const LowerOptions& options) {
  for (Alternative& one : reorders(reorder, options)) {
    Cost vetted = options.tuner.vet(reorder, *one.backend, one.tactic);
    if (!vetted.wrong.empty()) continue;
    one.cost = std::move(vetted);
    return std::move(one);
  }
  return std::nullopt;
}

void reject(NodeAlternatives& entry, std::size_t index, const std::string& wrong,
            const LowerOptions& options) {
  const Alternative& taken = entry.list.at(index);
  entry.notes.push_back(
      fmt::format("{} {} is left out: {}", taken.backend->name(), taken.tactic.kernel, wrong));
  entry.list.erase(entry.list.begin() + static_cast<std::ptrdiff_t>(index));
  fall_back(entry, options);
}

Storage on_the_way(const Type& type, const Storage& from, const Storage& to) {
  if (from.device == to.device) return from;
  const bool from_host = from.device.is_host();
  const Storage &host = from_host ? from : to, &other = from_host ? to : from;
  // A GPU changes the form where it has kernels for it, as it is faster; blocks and scales are the host's.
  const bool by_host = !host.layout.blocks.empty() || host.scale != 0;
  Storage middle = by_host ? other : host;
  middle.device = by_host ? host.device : other.device;
  if (same_storage(type, middle, to)) return to;
  return middle;
}

double ReorderCosts::operator()(const Type& type, const Storage& from, const Storage& to) {
  const bool moved =
      type.is_static() && type.dtype() != DType::string; // else it has no memory that is planned
  if (!moved || same_storage(type, from, to)) return 0;
  if (const Storage middle = on_the_way(type, from, to);
      !same_storage(type, middle, from) && !same_storage(type, middle, to))
    return (*this)(type, from, middle) + (*this)(type, middle, to);
  const std::string key = fmt::format("{} {} {}", type.to_string(), from.to_string(), to.to_string());
  const auto [place, fresh] = known_.emplace(key, 0.0);
  if (!fresh) return place->second;
  const std::unique_ptr<Graph> graph = reorder_graph(graph_.ops(), type, from, to);
  const auto best = best_reorder(*graph->body().nodes().front(), options_);
  // A reorder that nobody offers still works through the interpreter, at a price that avoids it.
  place->second = best ? best->cost.seconds : 1.0;
  return place->second;
}

} // namespace lanner
