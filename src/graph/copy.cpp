#include "graph/copy.h"

#include <utility>

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/op.h"
#include "graph/storage/quantization.h"

namespace lanner {

Value* NodeCopier::mapped(const Value* from) const {
  if (!from) return nullptr;
  const auto found = mapped_.find(from);
  check(found != mapped_.end(), ErrorCode::internal, "copy: value %{} has no counterpart", from->name());
  return found->second;
}

void NodeCopier::copy_attributes(const Node& from, Node& to) const {
  to.attributes = from.attributes;
  to.sources = from.sources;
  to.tactic = from.tactic;
  to.set_stream(from.stream());
  if (!convert_type) return;
  for (const auto& [name, attribute] : from.attributes) {
    if (const Type* type = std::get_if<Type>(&attribute)) to.attributes.set(name, convert_type(*type));
  }
}

void NodeCopier::copy_storage(const Value& from, Value& to) const {
  to.storage = with_values(from.storage, [&](Value* value) { return mapped(value); });
  if (from.storage.parent) to.storage.parent = mapped(from.storage.parent);
}

// A parent may be defined after its children, so storages are copied when the whole region is.
void NodeCopier::copy_storages(const Region& region) const {
  for (const auto& parameter : region.parameters()) copy_storage(*parameter, *mapped(parameter.get()));
  for (const auto& node : region.nodes()) {
    for (const auto& output : node->outputs()) copy_storage(*output, *mapped(output.get()));
  }
}

void NodeCopier::copy_region(const Region& from, Region& to, std::size_t captures) {
  const std::size_t own = from.parameters().size() - captures;
  for (std::size_t i = 0; i < from.parameters().size(); ++i) {
    const Value& parameter = *from.parameters()[i];
    Value* made = i < own ? to.add_parameter(parameter.name(), converted(parameter.type)) : to.parameter(i);
    if (i >= own) {
      made->type = converted(parameter.type);
      to.graph().rename(made, parameter.name());
    }
    mapped_[&parameter] = made;
  }
  Region* const outer = std::exchange(to_, &to);
  Node* const before = std::exchange(before_, nullptr);
  for (Value* output : copy_nodes(from)) to.add_output(output);
  to_ = outer;
  before_ = before;
  copy_storages(from);
}

Node* NodeCopier::copy(const Node& node) {
  check_deadline();
  std::vector<Value*> inputs;
  for (Value* input : node.own_inputs()) inputs.push_back(mapped(input));
  const OpDef& op =
      &to_->graph().ops() == &node.region()->graph().ops() ? node.op() : to_->graph().ops().get(node.kind());
  Node* made = to_->create(op, inputs, before_);
  copy_attributes(node, *made);
  for (const auto& output : node.outputs())
    mapped_[output.get()] = made->add_output(output->name(), converted(output->type));
  made->recount();
  for (Value* capture : node.inputs().last(node.captures())) made->add_capture(mapped(capture));
  for (const auto& region : node.regions()) copy_region(*region, made->add_region(), node.captures());
  return made;
}

std::vector<Value*> NodeCopier::copy_nodes(const Region& region) {
  for (const auto& node : region.nodes()) copy(*node);
  std::vector<Value*> outputs;
  for (Value* output : region.outputs()) outputs.push_back(mapped(output));
  return outputs;
}

std::vector<Value*> inline_region(const Region& region, std::span<Value* const> arguments, Node* before) {
  check(arguments.size() == region.parameters().size(), ErrorCode::internal,
        "inline: {} arguments for a region with {} parameters", arguments.size(), region.parameters().size());
  NodeCopier copier(*before->region(), before);
  for (std::size_t i = 0; i < arguments.size(); ++i) copier.map(region.parameter(i), arguments[i]);
  return copier.copy_nodes(region);
}

std::unique_ptr<Graph> Graph::clone(const Bindings& bindings) const {
  auto copy = std::make_unique<Graph>(*ops_, name);
  copy->metadata = metadata;
  for (const auto& [symbol, info] : symbols) {
    if (!bindings.contains(symbol)) copy->symbols.emplace(symbol, info);
  }
  NodeCopier copier(copy->body());
  if (!bindings.empty()) copier.convert_type = [&](const Type& type) { return type.substitute(bindings); };
  for (const auto& parameter : body_->parameters())
    copier.map(parameter.get(), copy->add_input(parameter->name(), parameter->type.substitute(bindings)));
  const std::vector<Value*> outputs = copier.copy_nodes(*body_);
  for (std::size_t i = 0; i < outputs.size(); ++i) copy->add_output(output_names_[i], outputs[i]);
  copier.copy_storages(*body_);
  copy->recount();
  return copy;
}

} // namespace lanner
