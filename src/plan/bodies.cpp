#include "plan/bodies.h"

#include <algorithm>
#include <map>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/copy.h"
#include "graph/op.h"
#include "ops/named.h"
#include "plan/lowered.h"
#include "plan/memory.h"
#include "plan/program.h"

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

Body make_body(const Region& region, std::span<const Backend* const> backends, const Target& target,
               WeightStore& constants) {
  Body body;
  body.results = body_results(region);
  for (std::size_t k = 0; k < body.results.size(); ++k) {
    if (body.results[k].from != BodyResult::From::constant) continue;
    body.results[k].index = static_cast<std::uint32_t>(body.constants.size());
    body.constants.push_back(plain_constant(*region.outputs()[k]));
  }
  body.program = std::make_unique<const Program>(body_graph(region), backends, target, constants);
  return body;
}

} // namespace

std::vector<BodyResult> body_results(const Region& region) {
  std::vector<BodyResult> results;
  std::map<const Value*, std::uint32_t> computed;
  std::uint32_t constants = 0;
  for (const Value* output : region.outputs()) {
    if (!output->producer()) {
      results.push_back({BodyResult::From::parameter, static_cast<std::uint32_t>(output->index())});
    } else if (is_constant(*output)) {
      results.push_back({BodyResult::From::constant, constants++});
    } else {
      const auto place = computed.emplace(output, static_cast<std::uint32_t>(computed.size())).first;
      results.push_back({BodyResult::From::computed, place->second});
    }
  }
  return results;
}

std::unique_ptr<Graph> body_graph(const Region& region) {
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

Bodies::Bodies() = default;
Bodies::Bodies(Bodies&&) noexcept = default;
Bodies::~Bodies() = default;

bool runs_by_bodies(const Node& node) {
  return pattern_of(node) == Pattern::region;
}

std::vector<const Backend*> host_backends(std::span<const Backend* const> backends) {
  std::vector<const Backend*> list;
  std::ranges::copy_if(backends, std::back_inserter(list),
                       [](const Backend* backend) { return backend->device() == DeviceKind::cpu; });
  return list;
}

Device device_of_bodies(const Node& node) {
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

Bodies make_bodies(const Node& node, std::span<const Backend* const> backends, const Target& target,
                   WeightStore& constants) {
  check(runs_by_bodies(node), ErrorCode::bad_data, "node {}: regions of {} are no programs", node.label(),
        node.kind());
  Bodies bodies;
  bodies.device = device_of_bodies(node);
  check(bodies.device.is_host() || bodies.device == target.device, ErrorCode::bad_data,
        "node {}: its regions are for {}, the plan is for {}", node.label(), bodies.device.to_string(),
        target.device.to_string());
  const bool on_host = bodies.device.is_host();
  const std::vector<const Backend*> taken =
      on_host ? host_backends(backends) : std::vector<const Backend*>(backends.begin(), backends.end());
  const Target own = on_host ? target.for_device(DeviceKind::cpu) : target.alone();
  if (ops::is_row_blocks(node)) bodies.rows = row_blocks_of(node);
  if (ops::is_loop(node) || ops::is_scan(node)) bodies.turns = turns_of(node, bodies.device);
  constexpr std::uint64_t arena_alignment = 256;
  const std::uint64_t buffers = bodies.turns  ? bodies.turns->workspace
                                : bodies.rows ? bodies.rows->workspace
                                              : 0;
  bodies.arena = add_aligned(0, buffers, arena_alignment);
  std::uint64_t arena = 0;
  for (const auto& region : node.regions()) {
    bodies.list.push_back(make_body(*region, taken, own, constants));
    const Program& made = *bodies.list.back().program;
    arena = std::max(arena, made.arena_bytes());
    if (!on_host) bodies.host_workspace = std::max(bodies.host_workspace, made.host_arena_bytes());
  }
  bodies.workspace = add_aligned(bodies.arena, arena);
  return bodies;
}

} // namespace lanner
