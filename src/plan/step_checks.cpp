#include "plan/step_checks.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

template<typename Fits>
bool all_values(const Node& node, Fits fits) {
  return std::ranges::all_of(node.inputs(), [&](const Value* value) { return !value || fits(*value); }) &&
         std::ranges::all_of(node.outputs(), [&](const auto& value) { return fits(*value); });
}

} // namespace

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

void check_reached(const Node& node, const Bodies& bodies) {
  const auto reached = [](const Value* value, Device device) {
    return !value || !is_planned(*value) || value->storage.device == device;
  };
  bool right = true;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    right = right && reached(node.input(i), is_control(node, i) ? Device{} : bodies.device);
  for (const auto& output : node.outputs()) right = right && reached(output.get(), bodies.device);
  check(right, ErrorCode::bad_data, "node {}: its regions run on {}, where a value of it does not lie",
        node.label(), bodies.device.to_string());
}

void check_devices(const Node& node, bool on_stream, Device device) {
  const auto fits = [&](const Value& value) {
    return value.storage.device.is_host() || (on_stream && value.storage.device == device);
  };
  check(all_values(node, fits), ErrorCode::bad_data,
        "node {}: kernel {} runs where a value of it does not lie", node.label(), node.tactic.kernel);
}

} // namespace lanner
