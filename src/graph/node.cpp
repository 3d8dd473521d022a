// Value and Node.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "graph/graph.h"
#include "graph/graph_bytes.h"
#include "graph/op.h"

namespace lanner {

std::uint32_t Value::add_use(Use use) {
  uses_.push_back(use);
  return static_cast<std::uint32_t>(uses_.size() - 1);
}

// By index, because one value may have as many uses as there are nodes.
void Value::drop_use(std::uint32_t index) {
  check(index < uses_.size(), ErrorCode::internal, "graph: %{} does not list a use that is removed", name_);
  const Use& last = uses_[index] = uses_.back();
  (last.node ? last.node->use_indices_[last.index] : last.region->use_indices_[last.index]) = index;
  uses_.pop_back();
}

void Value::replace_all_uses(Value* other) {
  if (other == this) return;
  const std::vector<Use> uses = std::exchange(uses_, {});
  for (const Use& use : uses) {
    (use.node ? use.node->inputs_[use.index] : use.region->outputs_[use.index]) = other;
    (use.node ? use.node->use_indices_[use.index] : use.region->use_indices_[use.index]) =
        other->add_use(use);
  }
}

const Tensor* Value::constant() const {
  if (!producer_ || !is_constant(*producer_)) return nullptr;
  const Attribute* value = producer_->attributes.find("value");
  return value ? std::get_if<Tensor>(value) : nullptr;
}

const std::string& Node::kind() const noexcept {
  return op_->name;
}

std::string Node::label() const {
  if (!sources.empty()) return sources.front();
  return outputs_.empty() ? kind() : fmt::format("{} %{}", kind(), outputs_.front()->name());
}

void Node::set_input(std::size_t i, Value* value) {
  check(i < inputs_.size(), ErrorCode::internal, "graph: node {} has {} inputs, input {} is set", label(),
        inputs_.size(), i);
  if (inputs_[i]) inputs_[i]->drop_use(use_indices_[i]);
  inputs_[i] = value;
  if (value) use_indices_[i] = value->add_use({this, nullptr, i});
}

void Node::insert_input(std::size_t index, Value* value) {
  region_->graph_->count(counted_, counted_ + use_bytes);
  inputs_.push_back(nullptr);
  use_indices_.push_back(0);
  for (std::size_t i = inputs_.size() - 1; i > index; --i) {
    Value* moved = inputs_[i - 1];
    set_input(i - 1, nullptr);
    set_input(i, moved);
  }
  set_input(index, value);
}

void Node::add_input(Value* value) {
  insert_input(inputs_.size() - captures_, value);
}

void Node::add_capture(Value* value) {
  insert_input(inputs_.size(), value);
  ++captures_;
  for (const auto& region : regions_)
    region->insert_parameter(region->parameters_.size(), value->name(), value->type);
}

void Node::remove_input(std::size_t i) {
  check(i < inputs_.size() - captures_, ErrorCode::internal, "graph: node {} has no input {} of its own",
        label(), i);
  erase_input(i);
}

void Node::erase_input(std::size_t i) {
  for (; i + 1 < inputs_.size(); ++i) set_input(i, inputs_[i + 1]);
  set_input(i, nullptr);
  inputs_.pop_back();
  use_indices_.pop_back();
  region_->graph_->count(counted_, counted_ - std::min(counted_, use_bytes));
}

void Node::remove_capture(std::size_t i) {
  check(i < captures_, ErrorCode::internal, "graph: node {} has no capture {}", label(), i);
  for (const auto& region : regions_) region->erase_parameter(region->parameters_.size() - captures_ + i);
  erase_input(inputs_.size() - captures_ + i);
  --captures_;
}

Value* Node::add_output(std::string_view name, Type type) {
  auto made = std::make_unique<Value>();
  Value& value = *made;
  value.type = std::move(type);
  value.producer_ = this;
  value.region_ = region_;
  value.index_ = outputs_.size();
  region_->graph_->claim(value, name);
  outputs_.push_back(std::move(made));
  return &value;
}

void Node::recount() {
  Graph& graph = *region_->graph_;
  graph.count(counted_, node_bytes(*this));
  for (const auto& output : outputs_) graph.count(output->counted_, value_bytes(*output));
}

Region& Node::add_region() {
  region_->graph_->count(counted_, counted_ + region_bytes);
  regions_.push_back(std::make_unique<Region>());
  Region& region = *regions_.back();
  region.graph_ = region_->graph_;
  region.owner_ = this;
  for (Value* capture : inputs().last(captures_))
    region.insert_parameter(region.parameters_.size(), capture->name(), capture->type);
  return region;
}

} // namespace lanner
