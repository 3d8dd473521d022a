#include "program/lowered/step_checks.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "program/lowered/lowered.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

template<typename Fits>
bool all_values(const Node& node, Fits fits) {
  return std::ranges::all_of(node.inputs(), [&](const Value* value) { return !value || fits(*value); }) &&
         std::ranges::all_of(node.outputs(), [&](const auto& value) { return fits(*value); });
}

} // namespace

void check_sizes_known(const Node& node) {
  const auto known = [](const Value& value) { return value.type.is_static(); };
  check(all_values(node, known), ErrorCode::bad_data,
        "kernel {}:{} needs static sizes, but the size of one of its values depends on data",
        node.tactic.backend, node.tactic.kernel);
}

void check_plain(const Node& node, Device device) {
  const auto plain = [&](const Value& value) {
    Storage storage = value.storage;
    storage.parent = nullptr;
    storage.offset = 0;
    if (is_planned(value) && storage.device == device) storage.device = {};
    return storage.is_default();
  };
  check(all_values(node, plain), ErrorCode::bad_data,
        "node {} is run by its definition or by its regions, but a value of it is not stored row-major",
        node.label());
}

void check_reached(const Node& node, const Subprograms& subprograms) {
  const auto reached = [](const Value* value, Device device) {
    return !value || !is_planned(*value) || value->storage.device == device;
  };
  bool right = true;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    right = right && reached(node.input(i), is_control(node, i) ? Device{} : subprograms.device);
  for (const auto& output : node.outputs()) right = right && reached(output.get(), subprograms.device);
  check(right, ErrorCode::bad_data, "node {}: its regions run on {}, but a value of it is stored elsewhere",
        node.label(), subprograms.device.to_string());
}

void check_stored(const Value& value, const Target& target) {
  const std::vector<Device> set = target.devices();
  const Device device = value.storage.device;
  check(device.is_host() || std::ranges::find(set, device) != set.end(), ErrorCode::bad_data,
        "{} {} is stored on {}, the plan is for {}", value.constant() ? "constant" : "value", value.name(),
        device.to_string(), devices_text(set));
}

void check_devices(const Node& node, bool on_stream, const Target& target) {
  const Device own = device_of(node);
  const bool copy = is_conversion(node);
  const auto fits = [&](const Value& value, bool from) {
    const Device device = value.storage.device;
    if (device.is_host()) return true;
    check_stored(value, target);
    return on_stream && (device == own || (copy && from));
  };
  check(
      std::ranges::all_of(node.inputs(), [&](const Value* value) { return !value || fits(*value, true); }) &&
          std::ranges::all_of(node.outputs(), [&](const auto& value) { return fits(*value, false); }),
      ErrorCode::bad_data, "node {}: kernel {} cannot access a value that is stored on another device",
      node.label(), node.tactic.kernel);
}

} // namespace lanner
