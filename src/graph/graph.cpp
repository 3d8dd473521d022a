#include "graph/graph.h"

#include "base/check.h"
#include "base/limits/account.h"
#include "graph/graph_bytes.h"
#include "graph/op.h"

namespace lanner {

Graph::Graph(const OpTable& ops, std::string name)
    : name(std::move(name)), ops_(&ops), body_(new Region),
      charge_(std::make_unique<Charge>(current_account())) {
  body_->graph_ = this;
  count(counted_, sizeof(Graph) + sizeof(Region));
}

Graph::~Graph() = default;

void Graph::add_output(std::string name, Value* value) {
  check(!taken_names_.contains(name), ErrorCode::invalid_argument, "graph: output name \"{}\" is given twice",
        name);
  count(counted_, counted_ + output_name_bytes(name));
  body_->add_output(value);
  taken_names_.insert(name);
  output_names_.push_back(std::move(name));
}

void Graph::remove_output(std::size_t i) {
  body_->remove_output(i);
  taken_names_.erase(output_names_.at(i));
  output_names_.erase(output_names_.begin() + static_cast<std::ptrdiff_t>(i));
}

Value* Graph::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : found->second;
}

std::string Graph::unique_name(std::string_view hint) {
  if (!hint.empty() && !values_.contains(hint)) return std::string(hint);
  std::string name;
  do {
    ++next_name_;
    name = hint.empty() ? fmt::format("{}", next_name_) : fmt::format("{}_{}", hint, next_name_);
  } while (values_.contains(name));
  return name;
}

void Graph::claim(Value& value, std::string_view hint) {
  value.name_ = unique_name(hint);
  count(value.counted_, value_bytes(value));
  values_.emplace(value.name_, &value);
}

void Graph::count(std::uint64_t& counted, std::uint64_t bytes) {
  const std::uint64_t all = bytes_ - counted + bytes;
  charge_->set(all);
  bytes_ = all;
  counted = bytes;
}

void Graph::recount() {
  std::uint64_t bytes = sizeof(Graph) + sizeof(Region) + body_->outputs().size() * use_bytes;
  for (const std::string& each : output_names_) bytes += output_name_bytes(each);
  for (const auto& [key, text] : metadata) bytes += map_bytes + text_bytes(key) + text_bytes(text);
  for (const auto& [symbol, info] : symbols) bytes += map_bytes + text_bytes(symbol) + sizeof(info);
  count(counted_, bytes);
}

void Graph::release(const Value& value) {
  const auto found = values_.find(value.name_);
  if (found != values_.end() && found->second == &value) values_.erase(found);
}

void Graph::rename(Value* value, std::string_view hint) {
  if (value->name_ == hint) return;
  release(*value);
  count(value->counted_, 0);
  claim(*value, hint);
}

Dim Graph::fresh_symbol(std::string_view hint, std::int64_t upper) {
  std::string base(hint.empty() ? "n" : hint);
  for (char& c : base) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits) c = '_';
  }
  if (base[0] >= '0' && base[0] <= '9') base = fmt::format("n{}", base);
  std::string name = base;
  while (symbols.contains(name)) name = fmt::format("{}_{}", base, ++next_name_);
  symbols[name] = SymbolInfo{0, upper, -1};
  return Dim::symbol(std::move(name));
}

Value* Graph::emit(std::string_view op, std::span<Value* const> inputs, AttributeMap attributes, Type type,
                   std::string_view hint, Node* before) {
  Region& region = before ? *before->region() : *body_;
  Node* node = region.create(ops_->get(op), inputs, before);
  node->attributes = std::move(attributes);
  node->recount();
  return node->add_output(hint, std::move(type));
}

Value* Graph::constant(Tensor value, std::string_view hint, Node* before) {
  Type type(value.dtype(), value.shape());
  AttributeMap attributes;
  attributes.set("value", std::move(value));
  return emit("constant", {}, std::move(attributes), std::move(type), hint, before);
}

static std::size_t count_nodes(const Region& region) {
  std::size_t count = region.nodes().size();
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions()) count += count_nodes(*inner);
  }
  return count;
}

std::size_t Graph::node_count() const {
  return count_nodes(*body_);
}

} // namespace lanner
