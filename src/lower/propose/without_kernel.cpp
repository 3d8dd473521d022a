#include "lower/propose/without_kernel.h"

#include "ops/movement/movement_rules.h"
#include "ops/table/named.h"
#include "program/late_kernel.h"
#include "program/lowered/lowered.h"
#include "program/subprograms.h"

namespace lanner {

Alternative without_kernel(const Node& node, const char* how) {
  Alternative alternative;
  alternative.tactic.kernel = how;
  alternative.tactic.inputs.resize(node.inputs().size());
  alternative.tactic.outputs.resize(node.outputs().size());
  return alternative;
}

Alternative by_regions(const Node& node) {
  Alternative alternative = without_kernel(node, program_backend);
  const Device device = device_of_subprograms(node);
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (node.input(i) && is_planned(*node.input(i)) && !is_control(node, i))
      alternative.tactic.inputs[i].device = device;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    if (is_planned(*node.output(i))) alternative.tactic.outputs[i].device = device;
  return alternative;
}

/// Whether input `i` may stay on the device.
static bool may_stay(const Node& node, std::size_t i) {
  if (ops::hands_on(node, i)) return true;
  return ops::reads_elements_of(node, i) &&
         (storage_bytes(*node.input(i), {}) >= ops::min_bytes_there(node) || may_compute_late(node));
}

/// Whether results may be in the memory of inputs.
static bool gives_on(const Node& node) {
  return ops::is_renamed(node) || ops::runs_late(node) || node.kind() == "sequence_at";
}

std::vector<Alternative> by_definition(const Node& node, const Target& target) {
  std::vector<Alternative> list{without_kernel(node, interpreter_backend)};
  if (target.device.is_host()) return list;
  Alternative here = list.front();
  bool differs = false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (const Value* input = node.input(i); input && is_planned(*input) && may_stay(node, i)) {
      here.tactic.inputs[i].device = target.device;
      differs = true;
    }
  if (gives_on(node))
    for (std::size_t k = 0; k < node.outputs().size(); ++k)
      if (is_planned(*node.output(k))) {
        here.tactic.outputs[k].device = target.device;
        differs = true;
      }
  if (differs) list.push_back(std::move(here));
  return list;
}

std::vector<Alternative> aliases(const Node& node, const Target& target) {
  std::vector<Alternative> list;
  const auto add_on = [&](const Storage& plain) {
    for (auto& [from, to] : alias_storages(node, plain)) {
      Alternative alternative = without_kernel(node, alias_backend);
      alternative.tactic.inputs[0] = std::move(from);
      alternative.tactic.outputs[0] = std::move(to);
      list.push_back(std::move(alternative));
    }
  };
  // A view keeps a value that kernels store in a narrower type as it is.
  const bool narrows = !ops::is_cast(node) && node.output()->type.dtype() == DType::f32;
  const auto add_types = [&](Storage plain, const Precision& precision) {
    add_on(plain);
    for (const DType type : {DType::f16, DType::bf16})
      if (narrows && precision.allows(type)) {
        plain.dtype = type;
        add_on(plain);
      }
  };
  add_types({}, target.precision);
  for (const Device device : target.devices())
    if (!device.is_host()) add_types(target.on(device).storage(), target.precision);
  return list;
}

} // namespace lanner
