// Shapes and data movement: mostly attributes that later became inputs.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/onnx/rules.h"

namespace lanner::onnx {
namespace {

using Strings = std::initializer_list<std::string_view>;

/// The operator with the attribute `name` (an integer list) as its last input.
void list_to_input(RuleContext& context, std::string_view op, std::string_view name) {
  std::vector<Value*> inputs{context.required(0)};
  if (context.has_attribute(name)) inputs.push_back(context.ints(context.integers(name)));
  context.set_outputs(
      *context.emit_node(op, inputs, context.attributes(op, {name}), context.node.outputs.size()));
}

Rule axes_before(std::int64_t version) {
  return [version](RuleContext& context) {
    if (context.version >= version) return direct(context);
    list_to_input(context, snake_case(context.node.op), "axes");
  };
}

void reshape(RuleContext& context) {
  if (context.version >= 5) return direct(context);
  context.set_output(0,
                     context.emit("reshape", {context.required(0), context.ints(context.integers("shape"))}));
}

void split(RuleContext& context) {
  if (context.version >= 13) {
    // Version 13 needs neither sizes nor a count where the parts are equal.
    AttributeMap attributes = context.attributes("split");
    if (!context.has(1) && !attributes.has("num_outputs"))
      attributes.set("num_outputs", static_cast<std::int64_t>(context.node.outputs.size()));
    return context.set_outputs(*context.emit_node("split", context.all_inputs(), std::move(attributes),
                                                  context.node.outputs.size()));
  }
  AttributeMap attributes = context.attributes("split", {"split"});
  std::vector<Value*> inputs{context.required(0)};
  if (context.has_attribute("split"))
    inputs.push_back(context.ints(context.integers("split")));
  else if (context.has(1))
    inputs.push_back(context.input(1));
  else
    attributes.set("num_outputs", static_cast<std::int64_t>(context.node.outputs.size()));
  context.set_outputs(
      *context.emit_node("split", inputs, std::move(attributes), context.node.outputs.size()));
}

void slice(RuleContext& context) {
  if (context.version >= 10) return direct(context);
  const std::vector<std::int64_t> starts = context.integers("starts");
  std::vector<Value*> inputs{context.required(0), context.ints(starts),
                             context.ints(context.integers("ends"))};
  if (context.has_attribute("axes")) inputs.push_back(context.ints(context.integers("axes")));
  context.set_output(0, context.emit("slice", inputs));
}

void pad(RuleContext& context) {
  if (context.version >= 11) return direct(context);
  const char* name = context.version >= 2 ? "pads" : "paddings";
  AttributeMap attributes;
  attributes.set("mode", context.string("mode", "constant"));
  Value* x = context.required(0);
  Value* value = context.scalar(x->type.dtype(), context.real("value", 0));
  context.set_output(
      0, context.emit("pad", {x, context.ints(context.integers(name)), value}, std::move(attributes)));
}

void tile(RuleContext& context) {
  if (context.version >= 6) return direct(context);
  const Tensor* axis = context.constant(2);
  Value* x = context.required(0);
  check(axis && x->type.ranked(), ErrorCode::unsupported,
        "Tile of version 1 with an axis that is not a constant");
  check(axis->elements() == 1 && axis->dtype() != DType::string, ErrorCode::bad_data,
        "Tile of version 1: its axis is {}{}, expected one number", to_string(axis->dtype()),
        axis->shape().to_string());
  // One repeat count for one axis: 1 for all others.
  Tensor number = Tensor::allocate(DType::i64, axis->shape());
  copy_tensor(*axis, number);
  const std::int64_t at = number.as<std::int64_t>()[0];
  check(at >= 0 && at < static_cast<std::int64_t>(x->type.rank()), ErrorCode::bad_data,
        "Tile of version 1: axis {} for rank {}", at, x->type.rank());
  std::vector<Value*> parts;
  AttributeMap to;
  to.set("to", DType::i64);
  for (std::size_t d = 0; d < x->type.rank(); ++d) {
    Value* count = static_cast<std::int64_t>(d) == at ? context.emit("cast", {context.required(1)}, to)
                                                      : context.ints({1});
    parts.push_back(context.emit("reshape", {count, context.ints({1})}));
  }
  AttributeMap concat;
  concat.set("axis", std::int64_t{0});
  context.set_output(0, context.emit("tile", {x, context.emit("concat", parts, concat)}));
}

void concat(RuleContext& context) {
  AttributeMap attributes = context.attributes("concat");
  if (!attributes.has("axis")) attributes.set("axis", std::int64_t{1});
  context.set_output(0, context.emit("concat", context.all_inputs(), std::move(attributes)));
}

/// Version 1 names the type by its TensorProto.DataType enumerator.
DType named_type(std::string_view name) {
  static constexpr std::pair<std::string_view, DType> types[] = {
      {"FLOAT", DType::f32},    {"UINT8", DType::u8},    {"INT8", DType::i8},    {"UINT16", DType::u16},
      {"INT16", DType::i16},    {"INT32", DType::i32},   {"INT64", DType::i64},  {"STRING", DType::string},
      {"BOOL", DType::boolean}, {"FLOAT16", DType::f16}, {"DOUBLE", DType::f64}, {"UINT32", DType::u32},
      {"UINT64", DType::u64}};
  const auto found = std::ranges::find(types, name, &std::pair<std::string_view, DType>::first);
  check(found != std::end(types), ErrorCode::bad_data, "attribute to: '{}' is not an element type", name);
  return found->second;
}

void cast(RuleContext& context) {
  if (context.version >= 6) return direct(context);
  AttributeMap attributes;
  attributes.set("to", named_type(context.string("to", "")));
  context.set_output(0, context.emit("cast", {context.required(0)}, std::move(attributes)));
}

template<typename T, typename From>
Tensor list_tensor(const std::vector<From>& values) {
  std::vector<T> converted(values.begin(), values.end());
  return Tensor::from<T>(std::span<const T>(converted), {static_cast<std::int64_t>(converted.size())});
}

void constant(RuleContext& context) {
  Tensor tensor;
  if (context.has_attribute("value"))
    tensor = context.get<Tensor>("value", "a tensor");
  else if (context.has_attribute("sparse_value"))
    tensor = context.get<Tensor>("sparse_value", "a sparse tensor");
  else if (context.has_attribute("value_float"))
    tensor = Tensor::scalar(static_cast<float>(context.real("value_float", 0)));
  else if (context.has_attribute("value_floats"))
    tensor = list_tensor<float>(context.reals("value_floats"));
  else if (context.has_attribute("value_int"))
    tensor = Tensor::scalar(context.integer("value_int", 0));
  else if (context.has_attribute("value_ints"))
    tensor = list_tensor<std::int64_t>(context.integers("value_ints"));
  else if (context.has_attribute("value_string"))
    tensor = Tensor::scalar(context.string("value_string", ""));
  else if (context.has_attribute("value_strings"))
    tensor = list_tensor<std::string>(context.get<std::vector<std::string>>("value_strings", "strings"));
  else
    fail(ErrorCode::bad_data, "the constant has no value");
  context.set_output(
      0, context.weight(context.node.outputs.empty() ? "" : context.node.outputs[0], std::move(tensor)));
}

void top_k(RuleContext& context) {
  if (context.version >= 10) return direct(context);
  AttributeMap attributes = context.attributes("top_k", {"k"});
  Node* node = context.emit_node("top_k", {context.required(0), context.ints({context.integer("k", 1)})},
                                 std::move(attributes), 2);
  context.set_outputs(*node);
}

} // namespace

void add_shape_rules(Rules& rules) {
  rules["Reshape"] = reshape;
  rules["Squeeze"] = rules["Unsqueeze"] = axes_before(13);
  rules["ReduceSum"] = axes_before(13);
  for (const char* name : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                           "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    rules[name] = axes_before(18);
  rules["Split"] = split;
  rules["Slice"] = slice;
  rules["Pad"] = pad;
  rules["Tile"] = tile;
  rules["Concat"] = concat;
  rules["Cast"] = cast;
  rules["Constant"] = constant;
  rules["TopK"] = top_k;
}

} // namespace lanner::onnx
