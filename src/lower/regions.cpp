#include "lower/regions.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "graph/copy.h"
#include "graph/op.h"
#include "plan/bodies.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

Value* add_constant(Region& region, const Tensor& tensor, const Type& type, std::string_view name,
                    Node* before) {
  Node* made = region.create(region.graph().ops().get("constant"), {}, before);
  made->attributes.set("value", tensor);
  return made->add_output(name, type);
}

/// So that kernels within have them packed as they read them.
void take_constants_in(Node& node) {
  const std::size_t own = node.own_inputs().size();
  for (std::size_t c = node.captures(); c-- > 0;) {
    const Value* captured = node.input(own + c);
    const Tensor* constant = captured->constant();
    if (!constant) continue;
    for (const auto& region : node.regions()) {
      Value* parameter = region->parameter(region->parameters().size() - node.captures() + c);
      if (parameter->unused()) continue;
      Node* first = region->nodes().empty() ? nullptr : region->nodes().front().get();
      Value* inner = add_constant(*region, *constant, captured->type, captured->name(), first);
      inner->producer()->sources = captured->producer()->sources;
      parameter->replace_all_uses(inner);
    }
    node.remove_capture(c);
  }
}

/// Puts the nodes of a lowered body in the place of the region's.
void replace_nodes(Region& region, const Graph& lowered, const std::vector<BodyResult>& results) {
  std::vector<std::pair<Tensor, Type>> constants;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].from != BodyResult::From::constant) continue;
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
  for (const BodyResult& result : results) {
    if (result.from == BodyResult::From::parameter)
      region.add_output(region.parameter(result.index));
    else if (result.from == BodyResult::From::computed)
      region.add_output(computed[result.index]);
    else
      region.add_output(add_constant(region, constants[result.index].first, constants[result.index].second,
                                     names[result.index], nullptr));
  }
}

void declare_new_symbols(Graph& graph, const Graph& lowered) {
  for (const auto& [name, info] : lowered.symbols) graph.symbols.emplace(name, info);
}

} // namespace

std::vector<NodeReport> lower_regions(Graph& graph, const LowerOptions& options) {
  const std::vector<const Backend*> backends = host_backends(options.backends);
  LowerOptions inner{backends,        options.target.for_device(DeviceKind::cpu),
                     options.tuner,   options.constants,
                     options.control, options.like,
                     options.observe};
  std::vector<NodeReport> reports;
  for (const auto& node : graph.body().nodes()) {
    if (!runs_by_bodies(*node)) continue;
    take_constants_in(*node);
    for (const auto& region : node->regions().subspan(first_body(*node))) {
      const std::vector<BodyResult> results = body_results(*region);
      Lowered lowered = lower(body_graph(*region), inner);
      declare_new_symbols(graph, *lowered.graph);
      replace_nodes(*region, *lowered.graph, results);
      std::ranges::move(lowered.reports, std::back_inserter(reports));
    }
    node->tactic.backend = node->tactic.kernel = program_backend;
  }
  return reports;
}

} // namespace lanner
