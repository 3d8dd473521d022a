#include "lower/precision.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/lowered.h"

namespace lanner {
namespace {

bool stored_as(const Value* value, DType type) {
  return value && value->type.is_tensor() && value->storage.dtype.value_or(value->type.dtype()) == type;
}

/// Whether a kernel of the device does more with values of the type than move them.
bool computes_in(const Node& node, DType type) {
  const std::string& backend = node.tactic.backend;
  if (backend.empty() || backend == interpreter_backend || backend == alias_backend) return false;
  if (node.kind() == "cast" || node.kind() == "reorder") return false;
  return std::ranges::any_of(node.inputs(), [&](const Value* value) { return stored_as(value, type); }) ||
         std::ranges::any_of(node.outputs(), [&](const auto& value) { return stored_as(value.get(), type); });
}

} // namespace

std::vector<std::string> unused_precisions(const Graph& lowered, const Target& target) {
  std::vector<std::string> lines;
  for (const DType type : target.precisions) {
    if (type == DType::f32) continue;
    const auto uses = [&](const auto& node) { return computes_in(*node, type); };
    const char* name = type == DType::f16 ? "fp16" : "bf16";
    // Whatever is stored in halves on a CPU, its kernels compute in f32 (lower/widen.h).
    if (target.device.is_host())
      lines.push_back(fmt::format(
          "precision {} has no effect: no kernel computes in it on a CPU; all is computed in fp32", name));
    else if (std::ranges::none_of(lowered.body().nodes(), uses))
      lines.push_back(
          fmt::format("precision {} has no effect: no kernel that computes in it was chosen on {}", name,
                      target.device.to_string()));
  }
  return lines;
}

} // namespace lanner
