#include "backends/group.h"

#include <map>

#include "graph/infer.h"
#include "ops/movement/movement_rules.h"

namespace lanner {

namespace {

using Operands = std::map<const Value*, Operand>;

Operand input_operand(std::size_t index, const Value* value, const Tensor* constant) {
  return {Operand::From::input, index, value, constant};
}

bool all_static(const Node& node) {
  for (const Value* value : node.inputs())
    if (value && !value->type.is_static()) return false;
  for (const auto& value : node.outputs())
    if (!value->type.is_static()) return false;
  return true;
}

bool only_first_output_used(const Node& node) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i)
    if (!node.output(i)->unused()) return false;
  return true;
}

std::vector<Operand> operands_of(const Node& node, const Operands& known) {
  std::vector<Operand> result;
  for (const Value* value : node.inputs()) {
    const auto found = value ? known.find(value) : known.end();
    result.push_back(found == known.end() ? Operand{} : found->second);
  }
  return result;
}

} // namespace

void Group::add(const Node& node, std::span<const Operand> operands) {
  ops_.push_back({&node, {operands.begin(), operands.end()}});
}

void Group::reject(std::string reason) {
  ops_.clear();
  reason_ = std::move(reason);
}

Group Group::of(const Node& node) {
  Group group;
  group.inputs_.assign(node.inputs().begin(), node.inputs().end());
  if (!all_static(node)) {
    group.reject("a type is not a tensor of known shape");
    return group;
  }
  if (node.kind() != "fused") {
    // Kernels of a data-dependent size are given room for the maximum.
    if (node.regions().empty() && !ops::finds_elements(node) && !types_follow(node)) {
      group.reject("an output's size depends on data");
      return group;
    }
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* value = node.inputs()[i];
      operands.push_back(value ? input_operand(i, value, value->constant()) : Operand{});
    }
    group.add(node, operands);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      group.outputs_.push_back({Operand::From::op, 0, node.output(i), nullptr});
    return group;
  }

  const Region& body = *node.regions().front();
  Operands known;
  for (std::size_t i = 0; i < body.parameters().size(); ++i) {
    const Value* outer = node.input(i);
    known[body.parameter(i)] = input_operand(i, body.parameter(i), outer ? outer->constant() : nullptr);
  }
  for (const auto& inner : body.nodes()) {
    if (const Tensor* constant = inner->output()->constant()) {
      known[inner->output()] = {Operand::From::constant, 0, inner->output(), constant};
      continue;
    }
    if (!inner->regions().empty() || !only_first_output_used(*inner) || !all_static(*inner)) {
      group.reject("the fused body has " + inner->kind() +
                   " with regions, further outputs or unknown shapes");
      return group;
    }
    known[inner->output()] = {Operand::From::op, group.ops_.size(), inner->output(), nullptr};
    group.add(*inner, operands_of(*inner, known));
  }
  for (const Value* output : body.outputs()) group.outputs_.push_back(known.at(output));
  return group;
}

Group Group::of(std::span<const Node* const> nodes) {
  Group group;
  Operands known;
  for (const Node* node : nodes) {
    if (!all_static(*node) || !only_first_output_used(*node) || !node->regions().empty()) {
      group.reject("a node has regions, further outputs or unknown shapes");
      return group;
    }
    for (const Value* value : node->inputs()) {
      if (!value || known.contains(value)) continue;
      known[value] = input_operand(group.inputs_.size(), value, value->constant());
      group.inputs_.push_back(value);
    }
    const std::vector<Operand> operands = operands_of(*node, known);
    known[node->output()] = {Operand::From::op, group.ops_.size(), node->output(), nullptr};
    group.add(*node, operands);
  }
  if (!nodes.empty()) group.outputs_.push_back(known.at(nodes.back()->output()));
  return group;
}

std::size_t Group::uses_of_op(std::size_t index) const {
  std::size_t uses = 0;
  const auto count = [&](const Operand& operand) { uses += operand.is_op() && operand.index == index; };
  for (const GroupOp& op : ops_)
    for (const Operand& operand : op.inputs) count(operand);
  for (const Operand& operand : outputs_) count(operand);
  return uses;
}

std::optional<float> scalar_value(const Tensor* tensor) {
  if (!tensor || tensor->elements() != 1 || !tensor->device().is_host()) return std::nullopt;
  switch (tensor->dtype()) {
  case DType::f32:
    return tensor->as<float>()[0];
  case DType::f64:
    return static_cast<float>(tensor->as<double>()[0]);
  case DType::f16:
    return static_cast<float>(tensor->as<Half>()[0]);
  case DType::bf16:
    return static_cast<float>(tensor->as<BFloat16>()[0]);
  default:
    return std::nullopt;
  }
}

} // namespace lanner
