#include "tactics/networks.h"

#include <set>

#include "backends/backends.h"
#include "builder/open_dims.h"
#include "builder/variant.h"
#include "engine/sample_shapes.h"
#include "engine/state.h"
#include "graph/infer.h"
#include "importers/importer.h"
#include "lower/check/trusted_kernels.h"
#include "lower/lower.h"
#include "lower/measure/timing_cache.h"
#include "lower/measure/tuner.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"
#include "program/lowered/lowered.h"

namespace lanner::sweep {
namespace {

std::set<std::string> batch_symbols(const Graph& network) {
  std::set<std::string> names;
  for (const auto& input : network.body().parameters())
    if (input->type.is_tensor() && input->type.ranked() && !input->type.dims().empty())
      if (const auto name = input->type.dims()[0].as_symbol()) names.insert(*name);
  return names;
}

/// The chosen alternative and the cheapest of the others.
std::vector<Offer> chosen_offers(const Proposal& taken, std::size_t chosen) {
  const auto runs = [](const Alternative& one) { return one.backend && !is_definition(*one.backend); };
  const Alternative* next = nullptr;
  for (std::size_t i = 0; i < taken.list.size(); ++i) {
    const Alternative& one = taken.list[i];
    if (i != chosen && runs(one) && (!next || one.cost.seconds < next->cost.seconds)) next = &one;
  }
  std::vector<Offer> offers;
  if (runs(taken.list.at(chosen))) offers.push_back({taken.list[chosen].backend, taken.list[chosen].tactic});
  if (next) offers.push_back({next->backend, next->tactic});
  return offers;
}

} // namespace

std::unique_ptr<Graph> import_network(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  auto graph = import_model(open_path(path), {builtin_op_table(), folder.empty() ? "." : folder, {}});
  if (const Bindings fixed = sizes_from_weights(*graph); !fixed.empty()) {
    graph = graph->clone(fixed);
    infer_types(*graph);
  }
  run_passes(*graph);
  return graph;
}

bool has_open_batch(const Graph& network) {
  return !batch_symbols(network).empty();
}

std::unique_ptr<Graph> network_at(const Graph& network, std::int64_t batch, const Settings& settings,
                                  const Control& control) {
  const auto sized = network.clone();
  for (auto& [name, symbol] : sized->symbols)
    if (const auto size = settings.sizes.find(name); size != settings.sizes.end()) symbol.opt = size->second;
  for (const std::string& name : batch_symbols(network)) sized->symbols[name].opt = batch;
  const Target target = target_of(settings, settings.precisions.front());
  const std::vector<const Backend*> backends = backends_for(target);
  const WeightStore nothing_known;
  const InputShapes shapes = sample_shapes(*sized, {.given = GivenShapes(sized->body().parameters().size())});
  return specialised_graph(*sized, shapes, {}, control, {backends, target, nothing_known});
}

void add_all(Problems& problems, std::unique_ptr<Graph> graph, const Origin& origin, const Control& control) {
  const std::vector<const Backend*> backends = backends_for(origin.target);
  TimingCache cache;
  WeightStore constants;
  Tuner tuner(origin.target, 0, cache, constants, control);
  const LowerOptions options{backends, origin.target, tuner, constants, control};
  prepare_to_lower(*graph, options);
  const std::vector<Proposal> proposals = offered_alternatives(*graph, options);
  problems.add(*graph, proposals, origin);
}

void add_chosen(Problems& problems, std::unique_ptr<Graph> graph, const Origin& origin, double budget,
                const Control& control) {
  const std::vector<const Backend*> backends = backends_for(origin.target);
  TimingCache cache(Environment().state().timing_cache());
  WeightStore constants;
  Tuner tuner(origin.target, budget, cache, constants, control);
  LowerOptions options{backends, origin.target, tuner, constants, control};
  options.observe = [&](const Proposal& taken, std::size_t chosen) {
    problems.add(*taken.node, chosen_offers(taken, chosen), origin);
  };
  const Lowered lowered = lower(std::move(graph), options);
  cache.save();
  for (const auto& node : lowered.graph->body().nodes()) {
    if (node->kind() != "reorder") continue;
    auto found = find_offered(*node, backends, origin.target);
    if (found && !is_definition(*found->backend))
      problems.add(*node, {{found->backend, std::move(found->tactic)}}, origin);
  }
}

} // namespace lanner::sweep
