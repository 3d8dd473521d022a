#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "graph/failing.h"
#include "importers/builder.h"
#include "ops/definition/recipe.h"

namespace lanner {
namespace {

/// Each level of nested loops infers its body several times.
constexpr int deepest_loop = 8;

template<typename T>
T typed(const ImportAttribute::Value& value, std::string_view name, const char* expected) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  fail(ErrorCode::bad_data, "attribute {}: expected {}, got another kind", name, expected);
}

Attribute converted(const ImportAttribute::Value& value, const AttributeSpec& spec,
                    DType (*dtype_of)(std::int64_t)) {
  switch (spec.kind) {
  case AttributeKind::integer:
    return typed<std::int64_t>(value, spec.name, "an integer");
  case AttributeKind::real:
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    return typed<double>(value, spec.name, "a number");
  case AttributeKind::string:
    return typed<std::string>(value, spec.name, "a string");
  case AttributeKind::integers:
    return typed<std::vector<std::int64_t>>(value, spec.name, "integers");
  case AttributeKind::reals:
    return typed<std::vector<double>>(value, spec.name, "numbers");
  case AttributeKind::strings:
    return typed<std::vector<std::string>>(value, spec.name, "strings");
  case AttributeKind::dtype:
    return dtype_of(typed<std::int64_t>(value, spec.name, "an element type"));
  case AttributeKind::type:
    return typed<Type>(value, spec.name, "a type");
  case AttributeKind::tensor:
    return typed<Tensor>(value, spec.name, "a tensor");
  }
  fail(ErrorCode::internal, "attribute {} has no kind", spec.name);
}

} // namespace

Value* RuleContext::input(std::size_t i) const {
  return i < inputs() ? builder_.lookup_optional(node.inputs[i]) : nullptr;
}

Value* RuleContext::required(std::size_t i) const {
  Value* value = input(i);
  check(value != nullptr, ErrorCode::bad_data, "input {} is missing", i);
  return value;
}

std::vector<Value*> RuleContext::all_inputs() const {
  std::vector<Value*> values;
  for (std::size_t i = 0; i < inputs(); ++i) values.push_back(input(i));
  while (!values.empty() && !values.back()) values.pop_back();
  return values;
}

const Tensor* RuleContext::constant(std::size_t i) const {
  const Value* value = input(i);
  if (!value) return nullptr;
  note_decided(*builder_.graph_, value); // a rule may depend on a value it reads
  if (const Tensor* tensor = value->constant()) return tensor;
  const Known& known = builder_.inference_->known(value);
  return known.tensor ? &*known.tensor : nullptr;
}

const std::vector<ImportNode>& RuleContext::model_nodes() const {
  return builder_.model_.graph.nodes;
}

const ImportOptions& RuleContext::options() const {
  return builder_.options_;
}

const ImportAttribute::Value* RuleContext::attribute(std::string_view name) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() || std::holds_alternative<std::monostate>(found->second.value)
             ? nullptr
             : &found->second.value;
}

std::int64_t RuleContext::integer(std::string_view name, std::int64_t fallback) const {
  return attribute(name) ? get<std::int64_t>(name, "an integer") : fallback;
}

double RuleContext::real(std::string_view name, double fallback) const {
  return attribute(name) ? get<double>(name, "a number") : fallback;
}

std::string RuleContext::string(std::string_view name, std::string fallback) const {
  if (!attribute(name)) return fallback;
  return get<std::string>(name, "a string");
}

std::vector<std::int64_t> RuleContext::integers(std::string_view name,
                                                std::vector<std::int64_t> fallback) const {
  if (!attribute(name)) return fallback;
  return get<std::vector<std::int64_t>>(name, "integers");
}

std::vector<double> RuleContext::reals(std::string_view name) const {
  return attribute(name) ? get<std::vector<double>>(name, "numbers") : std::vector<double>{};
}

DType RuleContext::dtype(std::string_view name) const {
  return builder_.model_.dtype_of(get<std::int64_t>(name, "an element type"));
}

AttributeMap RuleContext::attributes(std::string_view op,
                                     std::initializer_list<std::string_view> without) const {
  AttributeMap map;
  const OpDef& definition = builder_.ops_.get(op);
  for (const auto& [name, attribute] : node.attributes) {
    if (std::ranges::find(without, name) != without.end() ||
        std::holds_alternative<std::monostate>(attribute.value))
      continue;
    const auto spec = std::ranges::find(definition.attributes, name, &AttributeSpec::name);
    check(spec != definition.attributes.end(), ErrorCode::bad_data, "attribute {} is not one of {}'s", name,
          op);
    map.set(name, converted(attribute.value, *spec, builder_.model_.dtype_of));
  }
  return map;
}

Value* RuleContext::emit(std::string_view op, std::vector<Value*> inputs, AttributeMap attributes) {
  return emit_node(op, std::move(inputs), std::move(attributes), 1)->output();
}

Node* RuleContext::emit_node(std::string_view op, std::vector<Value*> inputs, AttributeMap attributes,
                             std::size_t outputs) {
  Node* made = builder_.create(op, inputs, std::move(attributes), outputs);
  if (made->op().regions == 0) builder_.inference_->add(*made);
  return made;
}

Value* RuleContext::tensor(Tensor value) {
  AttributeMap attributes;
  attributes.set("value", std::move(value));
  return emit("constant", {}, std::move(attributes));
}

Value* RuleContext::weight(const std::string& name, Tensor value) {
  const bool several = value.elements() > 1;
  Value* made = tensor(std::move(value));
  if (several) builder_.name_weight(*made->producer(), name);
  return made;
}

Value* RuleContext::ints(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return tensor(Tensor::from<std::int64_t>(values, {count}));
}

Value* RuleContext::scalar(DType type, double value) {
  const Tensor wide = Tensor::scalar(value);
  Tensor narrow = Tensor::allocate(type, {});
  copy_tensor(wide, narrow);
  return tensor(std::move(narrow));
}

void RuleContext::fill_region(Node& owner, Region& region, const ImportGraph& graph,
                              const std::vector<Type>& parameters) {
  ++builder_.depth_;
  check_limit("depth", builder_.depth_, builder_.limits_.depth, "graphs are nested {} deep", builder_.depth_);
  check(builder_.loops_around() <= deepest_loop, ErrorCode::limit_exceeded, "loops are nested deeper than {}",
        deepest_loop);
  check(graph.inputs.size() == parameters.size(), ErrorCode::bad_data,
        "its graph '{}' has {} inputs, expected {}", graph.name, graph.inputs.size(), parameters.size());
  GraphBuilder::Scope scope;
  scope.parent = builder_.scope_;
  scope.owner = &owner;
  scope.region = &region;
  scope.opsets = builder_.scope_->opsets;
  GraphBuilder::Scope* outer = std::exchange(builder_.scope_, &scope);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Value* parameter =
        region.add_parameter(builder_.graph_->unique_name(identifier(graph.inputs[i].name)), parameters[i]);
    builder_.inference_->declare(*parameter);
    builder_.define(graph.inputs[i].name, parameter);
  }
  const ImportNode* const current = builder_.current_;
  const std::uint32_t depth = builder_.depth_;
  const std::size_t calls = builder_.calls_.size();
  try {
    builder_.add_constants(graph);
    builder_.add_nodes(graph.nodes);
    for (const ImportValue& output : graph.outputs) region.add_output(builder_.lookup(output.name));
  } catch (const Error& error) {
    // A branch's declared sizes are checked when it is entered; the other branch may be the only one ever
    // taken.
    if (owner.kind() != "if" || error.code() != ErrorCode::invalid_argument) throw;
    make_failing(region, error.message(), {});
    builder_.current_ = current;
    builder_.depth_ = depth;
    builder_.calls_.resize(calls);
  }
  builder_.scope_ = outer;
  --builder_.depth_;
}

std::vector<Value*> RuleContext::inline_graph(const ImportGraph& graph,
                                              const std::vector<Value*>& arguments) {
  ++builder_.depth_;
  check_limit("depth", builder_.depth_, builder_.limits_.depth, "graphs are nested {} deep", builder_.depth_);
  check(graph.inputs.size() == arguments.size(), ErrorCode::bad_data,
        "its graph '{}' has {} inputs, expected {}", graph.name, graph.inputs.size(), arguments.size());
  GraphBuilder::Scope scope;
  scope.parent = builder_.scope_;
  scope.region = builder_.scope_->region;
  scope.opsets = builder_.scope_->opsets;
  GraphBuilder::Scope* outer = std::exchange(builder_.scope_, &scope);
  for (std::size_t i = 0; i < arguments.size(); ++i) builder_.define(graph.inputs[i].name, arguments[i]);
  builder_.add_constants(graph);
  builder_.add_nodes(graph.nodes);
  std::vector<Value*> results;
  for (const ImportValue& output : graph.outputs) results.push_back(builder_.lookup(output.name));
  builder_.scope_ = outer;
  --builder_.depth_;
  return results;
}

void RuleContext::infer(Node& owner) {
  builder_.inference_->add(owner);
}

void RuleContext::set_output(std::size_t i, Value* value) {
  if (i < node.outputs.size()) builder_.define(node.outputs[i], value);
}

void RuleContext::set_outputs(const Node& made) {
  for (std::size_t i = 0; i < made.outputs().size(); ++i) set_output(i, made.output(i));
}

} // namespace lanner
