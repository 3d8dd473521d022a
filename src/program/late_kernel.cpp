#include "program/late_kernel.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <lanner/error.h>

#include "backends/group.h"
#include "base/check.h"
#include "graph/op.h"
#include "ops/movement/movement_rules.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

bool is_near(const Storage& storage, Device device) {
  return storage.device == device && storage.layout.row_major() && !storage.dtype && !storage.quantization;
}

/// A copy of the node with these sizes, in its own graph.
Node& add_sized(Graph& graph, const Node& node, std::span<const Tensor> inputs,
                std::span<const Type> outputs) {
  std::vector<Value*> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined())
      values.push_back(nullptr);
    else if (is_late_operand(node, i))
      values.push_back(graph.add_input(fmt::format("{}", i), Type(inputs[i].dtype(), inputs[i].shape())));
    else // Constants of the graph are on the host, wherever a run reads them.
      values.push_back(graph.constant(node.input(i)->constant() ? *node.input(i)->constant() : inputs[i]));
  }
  Node* made = graph.body().create(node.op(), values);
  made->attributes = node.attributes;
  for (std::size_t k = 0; k < outputs.size(); ++k) made->add_output(fmt::format("y{}", k), outputs[k]);
  return *made;
}

/// Whether operands and results are plain memory on the device.
bool takes_plain(const Node& node, const Tactic& tactic, Device device) {
  bool plain = true;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    if (node.input(i) && !node.input(i)->constant()) plain = plain && is_near(tactic.inputs.at(i), device);
  for (std::size_t k = 0; k < node.outputs().size(); ++k)
    plain = plain && is_near(tactic.outputs.at(k), device);
  return plain;
}

} // namespace

bool may_compute_late(const Node& node) {
  if (ops::moves_elements(node)) return false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = node.input(i);
    if (!input || !ops::reads_elements_of(node, i)) continue;
    if (!input->type.ranked()) return true;
    double bytes = static_cast<double>(bit_width(input->type.dtype())) / 8;
    for (const Dim& dim : input->type.dims())
      bytes *= static_cast<double>(dim.bounds(node.region()->graph().symbols).max);
    if (bytes >= static_cast<double>(ops::min_bytes_there(node))) return true;
  }
  return false;
}

bool is_late_operand(const Node& node, std::size_t i) {
  if (!ops::reads_elements_of(node, i)) return false;
  // A scalar constant is compiled into an elementwise kernel.
  return !node.op().elementwise || !scalar_value(node.input(i)->constant());
}

std::optional<LateKernel> make_late_kernel(const Node& node, std::span<const Tensor> inputs,
                                           std::span<const Type> outputs,
                                           std::span<const Backend* const> backends, const Target& target) {
  LateKernel made{std::make_unique<Graph>(node.region()->graph().ops(), "late"), nullptr};
  const Node& sized = add_sized(*made.graph, node, inputs, outputs);
  for (const Backend* backend : backends) {
    if (backend->device() != target.device.kind) continue;
    for (const Tactic& tactic : backend->late_tactics(sized, target).tactics) {
      if (!takes_plain(sized, tactic, target.device)) continue;
      std::vector<const Tensor*> constants;
      for (const Value* input : sized.inputs()) constants.push_back(input ? input->constant() : nullptr);
      made.kernel = backend->prepare(sized, tactic, constants, target);
      return made;
    }
  }
  return std::nullopt;
}

void compile_late_kernel(const Node& node, std::span<const Backend* const> backends, const Target& target) {
  if (target.device.is_host() || !node.op().elementwise || !may_compute_late(node)) return;
  // The kernel works for any size: compile it with one element.
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = node.input(i);
    if (!input)
      inputs.emplace_back();
    else if (is_late_operand(node, i))
      inputs.push_back(Tensor::zeros(input->type.dtype(), {}));
    else
      inputs.push_back(*input->constant());
  }
  std::vector<Type> outputs;
  for (const auto& output : node.outputs()) outputs.emplace_back(output->type.dtype(), Shape{});
  static_cast<void>(make_late_kernel(node, inputs, outputs, backends, target));
}

} // namespace lanner
