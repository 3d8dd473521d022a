#include "importers/onnx/emitter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::onnx {

Value* Emitter::operator()(std::string_view op, std::vector<Value*> inputs,
                           std::initializer_list<std::pair<std::string, Attribute>> attributes) {
  AttributeMap map;
  for (const auto& [name, value] : attributes) map.set(name, value);
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  return context_.emit(op, std::move(inputs), std::move(map));
}

Value* Emitter::cast(Value* x, DType type) {
  return x->type.dtype() == type ? x : (*this)("cast", {x}, {{"to", type}});
}

Value* Emitter::transpose(Value* x, std::vector<std::int64_t> perm) {
  return std::ranges::is_sorted(perm) ? x : (*this)("transpose", {x}, {{"perm", std::move(perm)}});
}

Value* Emitter::reshape(Value* x, const std::vector<Size>& sizes) {
  std::vector<Value*> parts;
  std::vector<std::int64_t> run;
  const auto flush = [&] {
    if (!run.empty()) parts.push_back(context_.ints(std::exchange(run, {})));
  };
  for (const Size& size : sizes) {
    if (const auto* number = std::get_if<std::int64_t>(&size)) {
      run.push_back(*number);
      continue;
    }
    flush();
    parts.push_back(std::get<Value*>(size));
  }
  flush();
  if (parts.empty()) parts.push_back(context_.ints({}));
  return (*this)("reshape", {x, parts.size() == 1 ? parts[0] : concat(parts, 0)});
}

Value* Emitter::unsqueeze(Value* x, std::vector<std::int64_t> axes) {
  return (*this)("unsqueeze", {x, context_.ints(std::move(axes))});
}

Value* Emitter::squeeze(Value* x, std::vector<std::int64_t> axes) {
  return (*this)("squeeze", {x, context_.ints(std::move(axes))});
}

Value* Emitter::concat(std::vector<Value*> parts, std::int64_t axis) {
  return (*this)("concat", std::move(parts), {{"axis", axis}});
}

Value* Emitter::repeated(Value* scalar, std::int64_t count) {
  return (*this)("expand", {scalar, context_.ints({count})});
}

Value* Emitter::gather(Value* x, Value* places, std::int64_t axis) {
  return (*this)("gather", {x, places}, {{"axis", axis}});
}

Value* Emitter::slice(Value* x, std::int64_t axis, Size from, Size to) {
  const auto list = [&](const Size& size) {
    const auto* number = std::get_if<std::int64_t>(&size);
    return number ? context_.ints({*number}) : std::get<Value*>(size);
  };
  return (*this)("slice", {x, list(from), list(to), context_.ints({axis})});
}

std::vector<Value*> Emitter::split(Value* x, std::int64_t axis, std::vector<std::int64_t> sizes) {
  AttributeMap attributes;
  attributes.set("axis", axis);
  const std::size_t count = sizes.size();
  const Node* node = context_.emit_node("split", {x, context_.ints(std::move(sizes))}, attributes, count);
  std::vector<Value*> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(node->output(i));
  return parts;
}

Value* Emitter::size(Value* x, std::int64_t axis) {
  const std::int64_t end = axis + 1;
  if (end == 0) return (*this)("shape", {x}, {{"start", axis}});
  return (*this)("shape", {x}, {{"start", axis}, {"end", end}});
}

Value* Emitter::count(Value* length, std::int64_t from) {
  Value* end = scalar_of(length);
  return (*this)("range", {integer(from), from == 0 ? end : add(end, integer(from)), integer(1)});
}

std::size_t known_rank(const Value* value, std::string_view what) {
  check(value->type.is_tensor() && value->type.ranked(), ErrorCode::unsupported,
        "the rank of {} must be known before running", what);
  return value->type.rank();
}

std::int64_t known_size(const Value* value, std::size_t axis, std::string_view what) {
  const std::size_t rank = known_rank(value, what);
  check(axis < rank, ErrorCode::bad_data, "{} is {}, expected {} dims or more", what, value->type.to_string(),
        axis + 1);
  const auto size = value->type.dims()[axis].constant();
  check(size.has_value(), ErrorCode::unsupported, "{} is {}: its dim {} must be known before running", what,
        value->type.to_string(), axis);
  // So the product of two sizes fits 64 bits.
  check(*size <= INT32_MAX, ErrorCode::limit_exceeded, "{} is {}: its dim {} is over {}", what,
        value->type.to_string(), axis, INT32_MAX);
  return *size;
}

std::int64_t last_size(const Value* value, std::string_view what) {
  const std::size_t rank = known_rank(value, what);
  check(rank >= 1, ErrorCode::bad_data, "{} is {}, expected 1 dim or more", what, value->type.to_string());
  return known_size(value, rank - 1, what);
}

namespace {

struct FusedActivation {
  const char *name, *op;
  std::array<const char*, 2> parameters;
};
constexpr FusedActivation activations[] = {
    {"Relu", "relu", {}},
    {"Tanh", "tanh", {}},
    {"Sigmoid", "sigmoid", {}},
    {"Softplus", "softplus", {}},
    {"Softsign", "softsign", {}},
    {"HardSwish", "hard_swish", {}},
    {"Gelu", "gelu", {}},
    {"LeakyRelu", "leaky_relu", {"alpha"}},
    {"Elu", "elu", {"alpha"}},
    {"Celu", "celu", {"alpha"}},
    {"ThresholdedRelu", "thresholded_relu", {"alpha"}},
    {"HardSigmoid", "hard_sigmoid", {"alpha", "beta"}},
    {"Selu", "selu", {"alpha", "gamma"}},
    {"QuickGelu", "swish", {"alpha"}},
};

} // namespace

Value* fused_activation(RuleContext& context, Value* x, const std::string& name,
                        const ActivationParameters& parameters) {
  if (name.empty()) return x;
  Emitter emit(context);
  if (name == "Clip") {
    const auto least = parameters(0, "min"), most = parameters(1, "max");
    check(least && most, ErrorCode::bad_data, "activation Clip needs both min and max");
    return emit("clip", {x, emit.number(x, *least), emit.number(x, *most)});
  }
  const auto* found = std::ranges::find(activations, name, &FusedActivation::name);
  check(found != std::end(activations), ErrorCode::unsupported, "attribute activation: '{}' is not supported",
        name);
  AttributeMap attributes;
  for (std::size_t i = 0; i < found->parameters.size() && found->parameters[i]; ++i)
    if (const auto value = parameters(i, found->parameters[i])) attributes.set(found->parameters[i], *value);
  return context.emit(found->op, {x}, std::move(attributes));
}

namespace {

std::vector<std::int64_t> axes_of(const Value* x, std::string_view what) {
  std::vector<std::int64_t> axes(known_rank(x, what));
  check(axes.size() >= 3, ErrorCode::bad_data, "{} is {}, expected 3 dims or more", what,
        x->type.to_string());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

} // namespace

Value* to_channels_first(RuleContext& context, Value* x) {
  std::vector<std::int64_t> perm = axes_of(x, "an input whose channels are last");
  std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return Emitter(context).transpose(x, perm);
}

Value* to_channels_last(RuleContext& context, Value* x) {
  std::vector<std::int64_t> perm = axes_of(x, "a result whose channels are last");
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return Emitter(context).transpose(x, perm);
}

} // namespace lanner::onnx
