#include <algorithm>

#include "base/check.h"
#include "graph/graph.h"
#include "graph/graph_bytes.h"
#include "graph/op.h"

namespace lanner {

Value* Region::insert_parameter(std::size_t index, std::string_view name, Type type) {
  auto made = std::make_unique<Value>();
  Value* value = made.get();
  value->type = std::move(type);
  value->region_ = this;
  graph_->claim(*value, name);
  parameters_.insert(parameters_.begin() + static_cast<std::ptrdiff_t>(index), std::move(made));
  for (std::size_t i = index; i < parameters_.size(); ++i) parameters_[i]->index_ = i;
  return value;
}

Value* Region::add_parameter(std::string_view name, Type type) {
  const std::size_t captures = owner_ ? owner_->captures_ : 0;
  return insert_parameter(parameters_.size() - captures, name, std::move(type));
}

void Region::erase_parameter(std::size_t i) {
  Value& value = *parameters_.at(i);
  check(value.unused(), ErrorCode::internal, "graph: parameter %{} is removed but still used", value.name());
  graph_->release(value);
  graph_->count(value.counted_, 0);
  parameters_.erase(parameters_.begin() + static_cast<std::ptrdiff_t>(i));
  for (; i < parameters_.size(); ++i) parameters_[i]->index_ = i;
}

void Region::remove_parameter(std::size_t i) {
  const std::size_t captures = owner_ ? owner_->captures_ : 0;
  check(i + captures < parameters_.size(), ErrorCode::internal,
        "graph: region has no parameter {} of its own", i);
  erase_parameter(i);
}

void Region::add_output(Value* value) {
  std::uint64_t& counted = owner_ ? owner_->counted_ : graph_->counted_;
  graph_->count(counted, counted + use_bytes);
  outputs_.push_back(value);
  use_indices_.push_back(value->add_use({nullptr, this, outputs_.size() - 1}));
}

void Region::set_output(std::size_t i, Value* value) {
  outputs_.at(i)->drop_use(use_indices_[i]);
  outputs_[i] = value;
  use_indices_[i] = value->add_use({nullptr, this, i});
}

void Region::remove_output(std::size_t i) {
  for (; i + 1 < outputs_.size(); ++i) set_output(i, outputs_[i + 1]);
  outputs_.at(i)->drop_use(use_indices_[i]);
  outputs_.pop_back();
  use_indices_.pop_back();
}

Node* Region::previous(const Node* node) const {
  return node->position_ == nodes_.begin() ? nullptr : std::prev(node->position_)->get();
}

Node* Region::next(const Node* node) const {
  const Nodes::const_iterator after = std::next(node->position_);
  return after == nodes_.end() ? nullptr : after->get();
}

Node* Region::create(const OpDef& op, std::span<Value* const> inputs, Node* before) {
  check(!before || before->region_ == this, ErrorCode::internal,
        "graph: a {} is inserted before a node of another region", op.name);
  auto made = std::make_unique<Node>();
  Node* node = made.get();
  node->op_ = &op;
  node->region_ = this;
  node->inputs_.resize(inputs.size());
  node->use_indices_.resize(inputs.size());
  graph_->count(node->counted_, node_bytes(*node));
  for (std::size_t i = 0; i < inputs.size(); ++i) node->set_input(i, inputs[i]);
  node->position_ = nodes_.insert(before ? before->position_ : nodes_.end(), std::move(made));
  return node;
}

void Region::release_all() {
  for (const auto& parameter : parameters_) {
    graph_->release(*parameter);
    graph_->count(parameter->counted_, 0);
  }
  for (const auto& node : nodes_) node->release_outputs();
}

void Node::release_outputs() {
  Graph& graph = *region_->graph_;
  graph.count(counted_, 0);
  for (const auto& output : outputs_) {
    graph.release(*output);
    graph.count(output->counted_, 0);
  }
  for (const auto& region : regions_) region->release_all();
}

void Region::erase(Node* node) {
  check(node->region_ == this, ErrorCode::internal, "graph: node {} is erased from another region",
        node->label());
  for (const auto& output : node->outputs_)
    check(output->unused(), ErrorCode::internal, "graph: node {} is erased but %{} is still used",
          node->label(), output->name());
  for (std::size_t i = node->inputs_.size(); i-- > 0;) node->set_input(i, nullptr);
  node->release_outputs();
  nodes_.erase(node->position_);
}

void Region::move_before(Node* node, Node* before) {
  check(node->region_ == this && (!before || before->region_ == this), ErrorCode::internal,
        "graph: node {} is moved between regions", node->label());
  if (node != before) nodes_.splice(before ? before->position_ : nodes_.end(), nodes_, node->position_);
}

} // namespace lanner
