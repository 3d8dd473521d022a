#include "lower/propose/regions.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "graph/copy.h"
#include "graph/op.h"
#include "lower/propose/alternatives.h"
#include "lower/propose/row_rules.h"
#include "ops/table/named.h"
#include "passes/rewriting/rewrite.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"
#include "program/subprograms.h"

namespace lanner {
namespace {

Value* add_constant(Region& region, const Tensor& tensor, const Type& type, std::string_view name,
                    Node* before) {
  Node* made = region.create(region.graph().ops().get("constant"), {}, before);
  made->attributes.set("value", tensor);
  return made->add_output(name, type);
}

/// Copies captured constants into the region, so that they can be packed for its kernels.
void take_constants_in(Node& node) {
  const std::size_t own = node.own_inputs().size();
  std::vector<bool> taken(node.captures(), false);
  for (std::size_t c = node.captures(); c-- > 0;) {
    const Value* captured = node.input(own + c);
    const Tensor* constant = captured->constant();
    if (!constant) continue;
    taken[c] = true;
    for (const auto& region : node.regions()) {
      Value* parameter = region->parameter(region->parameters().size() - node.captures() + c);
      if (parameter->unused()) continue;
      Node* first = region->nodes().empty() ? nullptr : region->nodes().front().get();
      Value* inner = add_constant(*region, *constant, captured->type, captured->name(), first);
      inner->producer()->sources = captured->producer()->sources;
      parameter->replace_all_uses(inner);
    }
  }
  passes::remove_captures(node, taken);
}

/// Replaces the region's nodes by those of a lowered graph.
void replace_nodes(Region& region, const Graph& lowered, const std::vector<SubprogramResult>& results) {
  std::vector<std::pair<Tensor, Type>> constants;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].from != SubprogramResult::From::constant) continue;
    constants.emplace_back(*region.outputs()[k]->constant(), region.outputs()[k]->type);
    names.push_back(region.outputs()[k]->name());
  }
  while (!region.outputs().empty()) region.remove_output(region.outputs().size() - 1);
  while (!region.nodes().empty()) region.erase(region.nodes().back().get());
  NodeCopier copier(region);
  const Region& body = lowered.body();
  for (std::size_t i = 0; i < body.parameters().size(); ++i)
    copier.map(body.parameter(i), region.parameter(i));
  const std::vector<Value*> computed = copier.copy_nodes(body);
  copier.copy_storages(body);
  for (const SubprogramResult& result : results) {
    if (result.from == SubprogramResult::From::parameter)
      region.add_output(region.parameter(result.index));
    else if (result.from == SubprogramResult::From::computed)
      region.add_output(computed[result.index]);
    else
      region.add_output(add_constant(region, constants[result.index].first, constants[result.index].second,
                                     names[result.index], nullptr));
  }
}

/// Whether a GPU has a kernel for a node that is worth one.
bool offered_on_device(const Node& node, const LowerOptions& options) {
  return std::ranges::any_of(options.backends, [&](const Backend* backend) {
    return backend->device() == options.target.device.kind &&
           !reachable_tactics(*backend, node, options.target).tactics.empty();
  });
}

enum class Work : std::uint8_t { none, on_device, on_host };

/// Products and convolutions in a region, at any depth: whether there are any, and whether all may run on the
/// device.
Work heavy_work(const Region& region, const LowerOptions& options) {
  Work found = Work::none;
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions())
      if (const Work work = heavy_work(*inner, options); work != Work::none) found = std::max(found, work);
    if (is_heavy(*node) && is_planned(*node))
      found = std::max(found, offered_on_device(*node, options) ? Work::on_device : Work::on_host);
  }
  return found;
}

/// Whether a node, or one in its regions, is placed on another device than the target's own.
bool is_placed_elsewhere(const Node& node, const Target& target) {
  const Node* const one = &node;
  if (target.placement.nodes.empty()) return false;
  if (placed_on({&one, 1}, target) != target.device) return true;
  return std::ranges::any_of(node.regions(), [&](const auto& region) {
    return std::ranges::any_of(region->nodes(),
                               [&](const auto& inner) { return is_placed_elsewhere(*inner, target); });
  });
}

/// An iteration of small steps takes a GPU longer than the host: a node's regions run on the GPU only if they
/// contain a product or a convolution and it has kernels for all of these. Nodes placed elsewhere run on the
/// host.
bool runs_on_device(const Node& node, const LowerOptions& options) {
  if (options.target.device.is_host() || is_placed_elsewhere(node, options.target)) return false;
  Work found = Work::none;
  for (const auto& region : node.regions()) found = std::max(found, heavy_work(*region, options));
  return found == Work::on_device;
}

class RegionLowering {
public:
  RegionLowering(Graph& graph, const LowerOptions& options)
      : graph_(graph), options_(options), host_(host_backends(options.backends)) {}

  std::vector<NodeReport> run() {
    for (const auto& node : graph_.body().nodes()) {
      if (!runs_by_subprograms(*node)) continue;
      take_constants_in(*node);
      on_host_ = !runs_on_device(*node, options_);
      if (ops::is_row_blocks(*node))
        lower_blocks(*node);
      else
        for (const auto& region : node->regions()) put(*region, subprogram_graph(*region), options_.tactic_source);
      node->tactic.backend = node->tactic.kernel = program_backend;
    }
    return std::move(reports_);
  }

private:
  /// Largest block first. The others reuse its tactics, so that they share its packed weights.
  void lower_blocks(Node& node) {
    std::vector<std::unique_ptr<Graph>> subprograms;
    for (const auto& region : node.regions()) subprograms.push_back(subprogram_graph(*region));
    const std::vector<std::string> names = names_of(*subprograms.back());
    const std::unique_ptr<Graph> largest =
        put(*node.regions().back(), std::move(subprograms.back()), options_.tactic_source);
    for (std::size_t r = 0; r + 1 < subprograms.size(); ++r) {
      rename(*subprograms[r], names);
      put(*node.regions()[r], std::move(subprograms[r]), largest.get());
    }
  }

  static std::vector<Value*> values_of(const Graph& graph) {
    std::vector<Value*> values;
    for (const auto& parameter : graph.body().parameters()) values.push_back(parameter.get());
    for (const auto& node : graph.body().nodes())
      for (const auto& output : node->outputs()) values.push_back(output.get());
    return values;
  }

  static std::vector<std::string> names_of(const Graph& graph) {
    std::vector<std::string> names;
    for (const Value* value : values_of(graph)) names.push_back(value->name());
    return names;
  }

  /// Blocks differ only in their number of rows, so values correspond one by one.
  static void rename(Graph& graph, const std::vector<std::string>& names) {
    const std::vector<Value*> values = values_of(graph);
    for (std::size_t i = 0; i < values.size(); ++i) graph.rename(values[i], names[i]);
  }

  /// Lowers the graph of a region and replaces the region's nodes by the result.
  std::unique_ptr<Graph> put(Region& region, std::unique_ptr<Graph> body, const Graph* tactic_source) {
    const std::vector<SubprogramResult> results = subprogram_results(region);
    const LowerOptions inner{on_host_ ? std::span<const Backend* const>(host_) : options_.backends,
                             on_host_ ? options_.target.for_device(DeviceKind::cpu) : options_.target.alone(),
                             options_.tuner,
                             options_.constants,
                             options_.control,
                             tactic_source,
                             options_.observe};
    Lowered lowered = lower(std::move(body), inner);
    for (const auto& [name, info] : lowered.graph->symbols) graph_.symbols.emplace(name, info);
    replace_nodes(region, *lowered.graph, results);
    std::ranges::move(lowered.reports, std::back_inserter(reports_));
    return std::move(lowered.graph);
  }

  Graph& graph_;
  const LowerOptions& options_;
  const std::vector<const Backend*> host_;
  bool on_host_ = true; ///< Where the node's regions run.
  std::vector<NodeReport> reports_;
};

} // namespace

std::vector<NodeReport> lower_regions(Graph& graph, const LowerOptions& options) {
  return RegionLowering(graph, options).run();
}

} // namespace lanner
