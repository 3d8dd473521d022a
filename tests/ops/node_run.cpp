#include "ops/node_run.h"

#include <set>

#include "graph/infer.h"
#include "ops/definition/visit.h"
#include "ops/interpreter/interpreter.h"
#include "ops/table/table.h"

namespace lanner::test {

using ops::Tag;
using ops::visit_dtype;
using ops::WholeByteTypes;
using ops::widen;

namespace {

Type type_of(const Item& item) {
  if (item.is_sequence()) {
    const bool empty = item.items->empty();
    return Type::sequence(empty ? Type::unranked(DType::f32)
                                : Type::unranked(item.items->front().tensor.dtype()));
  }
  return Type(item.tensor.dtype(), item.tensor.shape());
}

/// A graph of one node: given types are inputs, given values constants or, where they are sequences, inputs.
struct OneNode {
  Graph graph{builtin_op_table()};
  Node* node = nullptr;
  std::vector<Item> items;

  explicit OneNode(const NodeSpec& spec, bool values_are_constants) {
    std::vector<Value*> inputs;
    for (const Given& given : spec.inputs) {
      Value* value = nullptr;
      Item item = given.value.value_or(Item{});
      if (given.type)
        value = graph.add_input(graph.unique_name("x"), *given.type);
      else if (given.value && values_are_constants && !item.is_sequence())
        value = graph.constant(item.tensor);
      else if (given.value)
        value = graph.add_input(graph.unique_name("x"), type_of(item));
      inputs.push_back(value);
      items.push_back(std::move(item));
    }
    node = graph.body().create(graph.ops().get(spec.op), inputs);
    node->attributes = spec.attributes;
    for (std::size_t i = 0; i < spec.outputs; ++i) node->add_output(graph.unique_name("y"), Type{});
    declare_symbols();
  }

private:
  void declare_symbols() {
    std::set<std::string> names;
    for (const auto& parameter : graph.body().parameters())
      if (parameter->type.ranked())
        for (const Dim& dim : parameter->type.dims()) dim.collect_symbols(names);
    for (const std::string& name : names) graph.symbols[name];
  }
};

template<typename T>
std::string show_value(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return '"' + value + '"';
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "1" : "0";
  else
    return fmt::format("{}", widen(value));
}

} // namespace

AttributeMap attributes(std::initializer_list<std::pair<std::string, Attribute>> list) {
  AttributeMap map;
  for (const auto& [name, value] : list) map.set(name, value);
  return map;
}

Attribute ints(std::vector<std::int64_t> values) {
  return Attribute(std::move(values));
}

Tensor i64s(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return i64s(std::move(values), Shape{count});
}
Tensor i64s(std::vector<std::int64_t> values, Shape shape) {
  return Tensor::from<std::int64_t>(values, std::move(shape));
}
Tensor f32s(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return f32s(std::move(values), Shape{count});
}
Tensor f32s(std::vector<float> values, Shape shape) {
  return Tensor::from<float>(values, std::move(shape));
}
Tensor bools(std::vector<int> values, Shape shape) {
  Tensor result = Tensor::allocate(DType::boolean, std::move(shape));
  const auto data = result.as<bool>();
  for (std::size_t i = 0; i < values.size(); ++i) data[i] = values[i] != 0;
  return result;
}
Tensor strings(std::vector<std::string> values, Shape shape) {
  return Tensor::from<std::string>(values, std::move(shape));
}

std::vector<Item> run_items(const NodeSpec& spec) {
  OneNode one(spec, false);
  for (const auto& output : one.node->outputs()) one.graph.add_output(output->name(), output.get());
  infer_types(one.graph);
  std::vector<const Item*> inputs;
  for (std::size_t i = 0; i < one.items.size(); ++i)
    inputs.push_back(one.node->input(i) ? &one.items[i] : nullptr);
  return run_node(*one.node, inputs);
}

Tensor run(const NodeSpec& spec) {
  return run_items(spec).at(0).tensor;
}

std::vector<Tensor> run_all(const NodeSpec& spec) {
  std::vector<Tensor> tensors;
  for (Item& item : run_items(spec)) tensors.push_back(item.tensor);
  return tensors;
}

std::string inferred(const NodeSpec& spec, std::size_t i) {
  try {
    OneNode one(spec, true);
    infer_types(one.graph);
    return one.node->output(i)->type.to_string();
  } catch (const Error& error) {
    return "error: " + error.message();
  }
}

std::string known(const NodeSpec& spec) {
  OneNode one(spec, true);
  infer_types(one.graph);
  const KnownValues values(one.graph);
  const Known& result = values.of(one.node->output());
  if (result.elements) return to_string(*result.elements);
  return result.tensor ? show(*result.tensor) : "unknown";
}

std::string show(const Tensor& tensor) {
  std::string values;
  visit_dtype(tensor.dtype(), WholeByteTypes{}, [&]<typename T>(Tag<T>) {
    for (const T& value : tensor.as<T>()) values += (values.empty() ? "" : ", ") + show_value(value);
  });
  return Type(tensor.dtype(), tensor.shape()).to_string() + "(" + values + ")";
}

std::string show(const Item& item) {
  if (item.absent) return "absent";
  if (!item.is_sequence()) return show(item.tensor);
  std::string text;
  for (const Item& element : *item.items) text += (text.empty() ? "" : ", ") + show(element);
  return "[" + text + "]";
}

} // namespace lanner::test
