#include "passes/rewriting/rewrite.h"

#include <algorithm>

#include "base/limits/account.h"
#include "graph/op.h"

namespace lanner::passes {

static void visit_regions(Region& region, const std::function<void(Region&)>& visit) {
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions()) visit_regions(*inner, visit);
  }
  visit(region);
}

void for_each_region(Graph& graph, const std::function<void(Region&)>& visit) {
  visit_regions(graph.body(), visit);
}

bool for_each_node(Graph& graph, const std::function<bool(Node&)>& rewrite) {
  bool changed = false;
  for_each_region(graph, [&](Region& region) {
    Node* node = region.nodes().empty() ? nullptr : region.nodes().front().get();
    while (node) {
      Node* const next = region.next(node);
      check_deadline();
      if (rewrite(*node)) changed = true;
      node = next;
    }
  });
  return changed;
}

void take_name(Value& to, Value& from) {
  Graph& graph = to.region()->graph();
  const std::string name = from.name();
  graph.rename(&from, {});
  graph.rename(&to, name);
}

void replace_by_copies(Node& node, std::span<Value* const> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    node.output(i)->replace_all_uses(values[i]);
    const bool made =
        values[i]->producer() && std::ranges::find(node.inputs(), values[i]) == node.inputs().end();
    if (made) take_name(*values[i], *node.output(i));
  }
  node.region()->erase(&node);
}

void replace(Node& node, Value* replacement) {
  Value& old = *node.output();
  old.replace_all_uses(replacement);
  if (replacement->name().starts_with(old.name() + "_")) take_name(*replacement, old);
  node.region()->erase(&node);
}

Node* producer(const Value* value, std::string_view kind) {
  return value && value->producer() && value->producer()->kind() == kind ? value->producer() : nullptr;
}

Node* sole_producer(const Value* value, std::string_view kind) {
  return value && value->uses().size() == 1 ? producer(value, kind) : nullptr;
}

/// Moves each remaining capture to its new position once: removing them one by one would move the rest each
/// time.
void remove_captures(Node& node, const std::vector<bool>& marked) {
  const std::size_t captures = node.captures(), own = node.own_inputs().size();
  std::size_t kept = 0;
  for (std::size_t c = 0; c < captures; ++c) {
    if (marked[c]) continue;
    const std::size_t place = kept++;
    if (place == c) continue;
    node.set_input(own + place, node.input(own + c));
    for (const auto& region : node.regions()) {
      const std::size_t first = region->parameters().size() - captures;
      Value &from = *region->parameter(first + c), &to = *region->parameter(first + place);
      to.type = from.type;
      to.storage = from.storage;
      from.replace_all_uses(&to);
      take_name(to, from);
    }
  }
  while (node.captures() > kept) node.remove_capture(node.captures() - 1);
}

template<typename T>
static std::optional<std::vector<T>> read_constant(const Value* value, DType as) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  const bool number = tensor && (is_float(tensor->dtype()) || is_integer(tensor->dtype()));
  if (!number || !tensor->device().is_host()) return std::nullopt;
  Tensor wide = Tensor::allocate(as, tensor->shape());
  copy_tensor(*tensor, wide);
  const auto elements = wide.as<T>();
  return std::vector<T>(elements.begin(), elements.end());
}

std::optional<std::vector<double>> constant_reals(const Value* value) {
  return read_constant<double>(value, DType::f64);
}

std::optional<std::vector<std::int64_t>> constant_integers(const Value* value) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor || !is_integer(tensor->dtype())) return std::nullopt;
  return read_constant<std::int64_t>(value, DType::i64);
}

std::optional<double> constant_scalar(const Value* value) {
  const Tensor* tensor = value ? value->constant() : nullptr;
  if (!tensor || tensor->elements() != 1) return std::nullopt;
  const auto values = constant_reals(value);
  return values ? std::optional(values->front()) : std::nullopt;
}

void take_sources(Node& to, const Node& from) {
  constexpr std::size_t most = 32;
  for (const std::string& source : from.sources) {
    if (to.sources.size() >= most) return;
    if (std::ranges::find(to.sources, source) == to.sources.end()) to.sources.push_back(source);
  }
}

Value* emit_before(Node& before, std::string_view kind, std::span<Value* const> inputs,
                   AttributeMap attributes, Type type) {
  Graph& graph = before.region()->graph();
  Value* made =
      graph.emit(kind, inputs, std::move(attributes), std::move(type), before.output()->name(), &before);
  made->producer()->sources = before.sources;
  return made;
}

Value* integers_before(Node& before, const std::vector<std::int64_t>& values, std::string_view name) {
  const auto size = static_cast<std::int64_t>(values.size());
  return before.region()->graph().constant(Tensor::from<std::int64_t>(values, {size}), name, &before);
}

} // namespace lanner::passes
