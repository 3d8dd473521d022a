#include "program/subprograms.h"

#include <algorithm>
#include <map>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/memory/memory.h"
#include "program/program.h"

namespace lanner {
namespace {

bool is_constant(const Value& value) {
  return value.constant() != nullptr;
}

Tensor plain_constant(const Value& value) {
  check(value.storage.is_default() && value.constant()->layout().row_major() &&
            value.constant()->dtype() == value.type.dtype(),
        ErrorCode::bad_data, "constant {} leaves a region, but is not stored row-major", value.name());
  return *value.constant();
}

Subprogram make_subprogram(const Region& region, std::span<const Backend* const> backends,
                           const Target& target, WeightStore& constants) {
  Subprogram subprogram;
  subprogram.results = subprogram_results(region);
  for (std::size_t k = 0; k < subprogram.results.size(); ++k) {
    if (subprogram.results[k].from != SubprogramResult::From::constant) continue;
    subprogram.results[k].index = static_cast<std::uint32_t>(subprogram.constants.size());
    subprogram.constants.push_back(plain_constant(*region.outputs()[k]));
  }
  subprogram.program = std::make_unique<const Program>(subprogram_graph(region), backends, target, constants);
  return subprogram;
}

} // namespace

std::vector<SubprogramResult> subprogram_results(const Region& region) {
  std::vector<SubprogramResult> results;
  std::map<const Value*, std::uint32_t> computed;
  std::uint32_t constants = 0;
  for (const Value* output : region.outputs()) {
    if (!output->producer()) {
      results.push_back({SubprogramResult::From::parameter, static_cast<std::uint32_t>(output->index())});
    } else if (is_constant(*output)) {
      results.push_back({SubprogramResult::From::constant, constants++});
    } else {
      const auto entry = computed.emplace(output, static_cast<std::uint32_t>(computed.size())).first;
      results.push_back({SubprogramResult::From::computed, entry->second});
    }
  }
  return results;
}

std::unique_ptr<Graph> subprogram_graph(const Region& region) {
  auto graph = std::make_unique<Graph>(region.graph().ops(), region.graph().name);
  graph->symbols = region.graph().symbols;
  NodeCopier copier(graph->body());
  for (const auto& parameter : region.parameters())
    copier.map(parameter.get(), graph->add_input(parameter->name(), parameter->type));
  copier.copy_nodes(region);
  copier.copy_storages(region);
  std::vector<const Value*> given;
  for (const Value* output : region.outputs()) {
    if (!output->producer() || is_constant(*output) || std::ranges::count(given, output) > 0) continue;
    given.push_back(output);
    graph->add_output(output->name(), copier.mapped(output));
  }
  return graph;
}

Subprograms::Subprograms() = default;
Subprograms::Subprograms(Subprograms&&) noexcept = default;
Subprograms::~Subprograms() = default;

bool runs_by_subprograms(const Node& node) {
  return pattern_of(node) == Pattern::region;
}

std::vector<const Backend*> host_backends(std::span<const Backend* const> backends) {
  std::vector<const Backend*> list;
  std::ranges::copy_if(backends, std::back_inserter(list),
                       [](const Backend* backend) { return backend->device() == DeviceKind::cpu; });
  return list;
}

Device device_of_subprograms(const Node& node) {
  for (const auto& region : node.regions()) {
    for (const auto& parameter : region->parameters())
      if (!parameter->storage.device.is_host()) return parameter->storage.device;
    for (const auto& inner : region->nodes())
      for (const auto& output : inner->outputs())
        if (!output->storage.device.is_host()) return output->storage.device;
  }
  return {};
}

bool is_control(const Node& node, std::size_t i) {
  return i < static_cast<std::size_t>(node.op().traits.control_inputs);
}

Subprograms make_subprograms(const Node& node, std::span<const Backend* const> backends, const Target& target,
                             WeightStore& constants) {
  check(runs_by_subprograms(node), ErrorCode::bad_data, "node {}: regions of {} cannot run as programs",
        node.label(), node.kind());
  Subprograms subprograms;
  subprograms.device = device_of_subprograms(node);
  check(subprograms.device.is_host() || subprograms.device == target.device, ErrorCode::bad_data,
        "node {}: its regions are for {}, the plan is for {}", node.label(), subprograms.device.to_string(),
        target.device.to_string());
  const bool on_host = subprograms.device.is_host();
  const std::vector<const Backend*> taken =
      on_host ? host_backends(backends) : std::vector<const Backend*>(backends.begin(), backends.end());
  const Target own = on_host ? target.for_device(DeviceKind::cpu) : target.alone();
  if (ops::is_row_blocks(node)) subprograms.rows = row_blocks_of(node);
  if (ops::is_loop(node) || ops::is_scan(node))
    subprograms.loop_values = loop_values_of(node, subprograms.device);
  constexpr std::uint64_t arena_alignment = 256;
  const std::uint64_t buffers = subprograms.loop_values ? subprograms.loop_values->workspace
                                : subprograms.rows      ? subprograms.rows->workspace
                                                        : 0;
  subprograms.arena = add_aligned(0, buffers, arena_alignment);
  std::uint64_t arena = 0;
  for (const auto& region : node.regions()) {
    subprograms.list.push_back(make_subprogram(*region, taken, own, constants));
    const Program& made = *subprograms.list.back().program;
    arena = std::max(arena, made.arena_bytes());
    if (!on_host) subprograms.host_workspace = std::max(subprograms.host_workspace, made.host_arena_bytes());
  }
  subprograms.workspace = add_aligned(subprograms.arena, arena);
  return subprograms;
}

} // namespace lanner
