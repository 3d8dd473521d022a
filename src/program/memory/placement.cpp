#include "program/memory/placement.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "program/lowered/lowered.h"
#include "program/lowered/named_nodes.h"
#include "program/schedule.h"

namespace lanner {
namespace {

std::string text_of(const PlacedNodes& placed) {
  return fmt::format("'{}={}'", placed.pattern, placed.device.to_string());
}

const PlacedNodes* placement_of(const Node& node, const DevicePlacement& placement) {
  const auto found = std::ranges::find_if(
      placement.nodes, [&](const PlacedNodes& placed) { return answers(node, placed.pattern); });
  return found == placement.nodes.end() ? nullptr : &*found;
}

/// The first GPU among a kernel's values, results first: for a copy that is its destination.
template<typename Inputs, typename Outputs, typename StorageOf>
Device gpu_of(const Inputs& inputs, const Outputs& outputs, const StorageOf& storage_of) {
  for (const auto& value : outputs)
    if (const Storage* storage = storage_of(value); storage && !storage->device.is_host())
      return storage->device;
  for (const auto& value : inputs)
    if (const Storage* storage = storage_of(value); storage && !storage->device.is_host())
      return storage->device;
  return {};
}

/// Whether placements apply to a node: not to constants and conversions inserted by lowering.
bool runs_somewhere(const Node& node) {
  return !is_constant(node) && !is_conversion(node) && node.tactic.backend != alias_backend;
}

std::vector<const Node*> elsewhere(const Graph& lowered, const PlacedNodes& placed, const Target& target) {
  std::vector<const Node*> list;
  each_node(lowered.body(), [&](const Node& node) {
    if (runs_somewhere(node) && placement_of(node, target.placement) == &placed &&
        device_of(node) != placed.device)
      list.push_back(&node);
  });
  return list;
}

} // namespace

void check_placement(Device own, const DevicePlacement& placement) {
  constexpr std::size_t most = 4096;
  std::vector<Device> set{own};
  for (const Device device : placement.devices) {
    check(!own.is_host() && !device.is_host(), ErrorCode::invalid_argument,
          "device {} with {}: expected GPUs where there are several; the host is in every set",
          device.to_string(), own.to_string());
    check(std::ranges::count(set, device) == 0, ErrorCode::invalid_argument, "device {} comes twice",
          device.to_string());
    set.push_back(device);
  }
  check(set.size() <= max_run_streams, ErrorCode::invalid_argument, "{} devices: expected at most {}",
        set.size(), max_run_streams);
  check(placement.nodes.size() <= most, ErrorCode::invalid_argument, "{} placements: expected at most {}",
        placement.nodes.size(), most);
  for (const PlacedNodes& placed : placement.nodes) {
    check(!placed.pattern.empty(), ErrorCode::invalid_argument,
          "a placement on {} has an empty pattern; expected a node's name", placed.device.to_string());
    check(placed.device.is_host() || std::ranges::count(set, placed.device) > 0, ErrorCode::invalid_argument,
          "placement {}: the engine's devices are {} and the host; name the device among them",
          text_of(placed), devices_text(set));
  }
}

void check_placed(const Graph& graph, const DevicePlacement& placement) {
  for (const PlacedNodes& placed : placement.nodes)
    check_answered(graph, placed.pattern, "placement " + text_of(placed));
}

std::optional<Device> placed_on(std::span<const Node* const> nodes, const Target& target) {
  if (target.placement.nodes.empty()) return target.device;
  std::optional<Device> device;
  for (const Node* node : nodes) {
    const PlacedNodes* placed = placement_of(*node, target.placement);
    const Device here = placed ? placed->device : target.device;
    if (device && *device != here) return std::nullopt;
    device = here;
  }
  return device.value_or(target.device);
}

Device device_of(const Backend& backend, const Tactic& tactic, const Target& target) {
  if (backend.device() == DeviceKind::cpu) return {};
  const Device gpu = gpu_of(tactic.inputs, tactic.outputs, [](const Storage& storage) { return &storage; });
  return gpu.is_host() ? target.device : gpu;
}

Device device_of(const Node& lowered) {
  return gpu_of(lowered.inputs(), lowered.outputs(),
                [](const auto& value) -> const Storage* { return value ? &value->storage : nullptr; });
}

Target target_at(const Node& lowered, const Backend& backend, const Target& target) {
  const Device gpu = device_of(lowered);
  return backend.device() == DeviceKind::cpu ? target.on({}) : gpu.is_host() ? target : target.on(gpu);
}

bool uses_further(const Graph& lowered, const Target& target) {
  return !target.placement.devices.empty() &&
         std::ranges::any_of(lowered.body().nodes(), [&](const auto& node) {
           return std::ranges::any_of(node->outputs(), [&](const auto& value) {
             const Device device = value->storage.device;
             return !device.is_host() && device != target.device;
           });
         });
}

std::vector<std::string> unkept_placements(const Graph& lowered, const Target& target) {
  std::vector<std::string> lines;
  for (const PlacedNodes& placed : target.placement.nodes)
    if (const auto list = elsewhere(lowered, placed, target); !list.empty())
      lines.push_back(fmt::format("placement {} is not kept by {} of its nodes, {} ({}) the first: no kernel "
                                  "runs it there, so it runs on {}",
                                  text_of(placed), list.size(), node_name(*list.front()),
                                  shown_kind(*list.front()), device_of(*list.front()).to_string()));
  return lines;
}

void check_strict_placement(const Graph& lowered, const Target& target) {
  if (!target.placement.strict) return;
  for (const PlacedNodes& placed : target.placement.nodes)
    if (const auto list = elsewhere(lowered, placed, target); !list.empty())
      fail(ErrorCode::unsupported,
           "placement {} (strict): no kernel runs {} ({}) there; place it on {}, or leave strict out",
           text_of(placed), node_name(*list.front()), shown_kind(*list.front()),
           device_of(*list.front()).to_string());
}

} // namespace lanner
