#include "importers/caffe/rules.h"

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::caffe {
namespace {

const Rules& all_rules() {
  static const Rules rules = [] {
    Rules made;
    add_layer_rules(made);
    add_normalization_rules(made);
    add_math_rules(made);
    add_shape_rules(made);
    return made;
  }();
  return rules;
}

} // namespace

Rule find_rule(const ImportNode& node) {
  const auto found = all_rules().find(node.op);
  return found == all_rules().end() ? Rule{} : found->second;
}

std::size_t blobs(const RuleContext& context) {
  return context.has_attribute("blobs") ? context.get<std::vector<Tensor>>("blobs", "tensors").size() : 0;
}

const Tensor& blob(const RuleContext& context, std::size_t i) {
  check(i < blobs(context), ErrorCode::bad_data,
        "its trained blob {} is missing; give the .caffemodel that belongs to the net as weights", i);
  return context.get<std::vector<Tensor>>("blobs", "tensors")[i];
}

Value* blob(RuleContext& context, std::size_t i, Shape shape) {
  const Tensor& tensor = blob(context, i);
  check(tensor.elements() == shape.elements(), ErrorCode::bad_data, "trained blob {}: expected {}, got {}", i,
        shape.to_string(), tensor.shape().to_string());
  return context.weight(fmt::format("{}/{}", context.node.name, i), tensor.reshaped(std::move(shape)));
}

std::size_t rank_of(const RuleContext& context, std::size_t i) {
  const Value* value = context.required(i);
  check(value->type.ranked(), ErrorCode::unsupported, "the rank of its input must be known before running");
  return value->type.rank();
}

std::int64_t axis_of(const RuleContext& context, const char* name, std::int64_t fallback) {
  const auto rank = static_cast<std::int64_t>(rank_of(context));
  const std::int64_t axis = context.integer(name, fallback);
  check(axis >= -rank && axis < rank, ErrorCode::bad_data, "{} {} is out of range for rank {}", name, axis,
        rank);
  return axis < 0 ? axis + rank : axis;
}

Value* unsqueezed(RuleContext& context, Value* value, std::size_t trailing) {
  if (trailing == 0) return value;
  check(value->type.ranked(), ErrorCode::unsupported, "the rank of an input must be known before running");
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < trailing; ++i)
    axes.push_back(static_cast<std::int64_t>(value->type.rank() + i));
  return context.emit("unsqueeze", {value, context.ints(axes)});
}

AttributeMap with(std::string name, Attribute value) {
  AttributeMap attributes;
  attributes.set(std::move(name), std::move(value));
  return attributes;
}

} // namespace lanner::caffe
