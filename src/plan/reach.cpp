#include "plan/reach.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "plan/placement.h"

namespace lanner {

void check_reached(const Value& value, const Target& target) {
  const std::vector<Device> set = target.devices();
  const Device device = value.storage.device;
  check(device.is_host() || std::ranges::find(set, device) != set.end(), ErrorCode::bad_data,
        "{} {} is stored on {}, the plan is for {}", value.constant() ? "constant" : "value", value.name(),
        device.to_string(), devices_text(set));
}

void check_plain(const Node& node) {
  const auto plain = [](const Value* value) {
    if (!value) return true;
    Storage storage = value->storage;
    storage.parent = nullptr;
    storage.offset = 0;
    return storage.is_default();
  };
  check(std::ranges::all_of(node.inputs(), plain) &&
            std::ranges::all_of(node.outputs(), [&](const auto& value) { return plain(value.get()); }),
        ErrorCode::bad_data,
        "node {} is run by its definition or by its regions, but a value of it is not stored row-major",
        node.label());
}

void check_devices(const Node& node, bool on_stream, const Target& target) {
  const Device own = device_of(node);
  const bool copy = node.kind() == "reorder";
  const auto fits = [&](const Value& value, bool from) {
    const Device device = value.storage.device;
    if (device.is_host()) return true;
    check_reached(value, target);
    return on_stream && (device == own || (copy && from));
  };
  check(
      std::ranges::all_of(node.inputs(), [&](const Value* value) { return !value || fits(*value, true); }) &&
          std::ranges::all_of(node.outputs(), [&](const auto& value) { return fits(*value, false); }),
      ErrorCode::bad_data, "node {}: kernel {} runs where a value of it does not lie", node.label(),
      node.tactic.kernel);
}

} // namespace lanner
