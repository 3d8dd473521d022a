#include "importers/tensorflow/rules/rules.h"

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::tensorflow {
namespace {

template<typename T>
std::vector<std::int64_t> widened(const Tensor& tensor) {
  const auto elements = tensor.as<T>();
  return {elements.begin(), elements.end()};
}

} // namespace

const Rules& operator_rules() {
  static const Rules rules = [] {
    Rules made;
    for (const auto add : {add_math_rules,      add_special_rules,      add_bit_rules,    add_linear_rules,
                           add_reduction_rules, add_layer_rules,        add_fused_rules,  add_image_rules,
                           add_resample_rules,  add_quantization_rules, add_colour_rules, add_patch_rules,
                           add_detection_rules, add_shape_rules,        add_index_rules,  add_segment_rules,
                           add_sequence_rules,  add_diagonal_rules,     add_slice_rules,  add_block_rules,
                           add_list_rules,      add_control_rules,      add_refused_rules})
      add(made);
    return made;
  }();
  return rules;
}

Rule find_rule(const ImportNode& node) {
  const auto found = operator_rules().find(node.op);
  return found == operator_rules().end() || !node.domain.empty() ? Rule{} : found->second.convert;
}

bool is_refused(const std::string& op) {
  const auto found = operator_rules().find(op);
  return found != operator_rules().end() && found->second.refused;
}

void note_limit(Rules& rules, std::initializer_list<const char*> names, const char* limit) {
  for (const char* name : names) rules[name].limits.push_back(limit);
}

OperatorRule refused(const char* why) {
  OperatorRule rule([why](RuleContext&) { fail(ErrorCode::unsupported, "{}", why); }, {why});
  rule.refused = true;
  return rule;
}

Rule same(const char* op) {
  return [op](RuleContext& context) { context.set_output(0, context.emit(op, context.all_inputs())); };
}

AttributeMap with(std::string name, Attribute value) {
  AttributeMap attributes;
  attributes.set(std::move(name), std::move(value));
  return attributes;
}

Value* cast(RuleContext& context, Value* value, DType to) {
  return value->type.dtype() == to ? value : context.emit("cast", {value}, with("to", to));
}

Value* integers(RuleContext& context, std::size_t i) {
  return cast(context, context.required(i), DType::i64);
}

Value* integer_list(RuleContext& context, std::size_t i) {
  Value* value = integers(context, i);
  if (value->type.ranked() && value->type.rank() == 1) return value;
  return context.emit("reshape", {value, context.ints({-1})});
}

std::vector<std::int64_t> known_integers(const RuleContext& context, std::size_t i) {
  const Tensor* tensor = context.constant(i);
  check(tensor != nullptr, ErrorCode::unsupported, "input {}: {}", i, open_setting);
  check(tensor->dtype() == DType::i32 || tensor->dtype() == DType::i64, ErrorCode::bad_data,
        "input {} is {}; expected i32 or i64", i, to_string(tensor->dtype()));
  return tensor->dtype() == DType::i32 ? widened<std::int32_t>(*tensor) : widened<std::int64_t>(*tensor);
}

std::int64_t known_integer(const RuleContext& context, std::size_t i) {
  const std::vector<std::int64_t> list = known_integers(context, i);
  check(list.size() == 1, ErrorCode::bad_data, "input {}: expected one number, got {}", i, list.size());
  return list[0];
}

std::int64_t known_axis(const RuleContext& context, std::size_t i, std::size_t rank) {
  const std::vector<std::int64_t> axis = known_integers(context, i);
  const auto dims = static_cast<std::int64_t>(rank);
  check(axis.size() == 1 && axis[0] >= -dims && axis[0] < dims, ErrorCode::bad_data,
        "input {}: expected one axis of {} dims", i, rank);
  return axis[0] < 0 ? axis[0] + dims : axis[0];
}

std::size_t rank_of(const RuleContext& context, std::size_t i) {
  const Value* value = context.required(i);
  check(value->type.ranked(), ErrorCode::unsupported, "the rank of input {} must be known before running", i);
  return value->type.rank();
}

Value* transpose(RuleContext& context, Value* value, std::vector<std::int64_t> order) {
  return context.emit("transpose", {value}, with("perm", std::move(order)));
}

Value* unsqueezed(RuleContext& context, Value* value, std::vector<std::int64_t> axes) {
  return context.emit("unsqueeze", {value, context.ints(std::move(axes))});
}

Value* reshaped(RuleContext& context, Value* value, std::vector<std::int64_t> sizes) {
  return context.emit("reshape", {value, context.ints(std::move(sizes))});
}

Value* number_like(RuleContext& context, const Value* like, double number) {
  return context.scalar(like->type.dtype(), number);
}

bool is_real(const Value* value) {
  const DType type = value->type.dtype();
  return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
}

std::optional<std::int64_t> known_size(const Value* value, std::size_t d) {
  return value->type.ranked() && d < value->type.rank() ? value->type.dims()[d].constant() : std::nullopt;
}

DataFormat data_format(const RuleContext& context, std::size_t dims) {
  const std::string format = context.string("data_format", dims == 3 ? "NDHWC" : "NHWC");
  const bool last = format == "NHWC" || format == "NDHWC", first = format == "NCHW" || format == "NCDHW";
  check(last || first, ErrorCode::unsupported, "data_format {}; expected {}", format,
        dims == 3 ? "NDHWC or NCDHW" : "NHWC or NCHW");
  return {last, dims};
}

Value* channels_first(RuleContext& context, Value* value, const DataFormat& format) {
  if (!format.channels_last) return value;
  std::vector<std::int64_t> order{0, static_cast<std::int64_t>(format.dims) + 1};
  for (std::size_t d = 0; d < format.dims; ++d) order.push_back(static_cast<std::int64_t>(d) + 1);
  return transpose(context, value, std::move(order));
}

Value* as_source(RuleContext& context, Value* value, const DataFormat& format) {
  if (!format.channels_last) return value;
  std::vector<std::int64_t> order{0};
  for (std::size_t d = 0; d < format.dims; ++d) order.push_back(static_cast<std::int64_t>(d) + 2);
  order.push_back(1);
  return transpose(context, value, std::move(order));
}

} // namespace lanner::tensorflow
