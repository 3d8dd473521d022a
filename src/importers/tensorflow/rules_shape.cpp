// Shapes, constants and movement of whole dims.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules.h"

namespace lanner::tensorflow {
namespace {

void constant(RuleContext& context) {
  // The reader leaves the reason in place of a tensor that it cannot hold.
  if (const auto* value = context.attribute("value"))
    if (const auto* reason = std::get_if<std::string>(value)) fail(ErrorCode::unsupported, "{}", *reason);
  context.set_output(0, context.weight(context.node.name, context.get<Tensor>("value", "a tensor")));
}

void reshape(RuleContext& context) {
  // A 0 is a size here, while our reshape would copy the input's dim.
  AttributeMap attributes;
  const Tensor* shape = context.constant(1);
  const bool zeros = shape && std::ranges::count(known_integers(context, 1), 0) > 0;
  attributes.set("allowzero", std::int64_t{zeros || !shape});
  context.set_output(
      0, context.emit("reshape", {context.required(0), integer_list(context, 1)}, std::move(attributes)));
}

void transpose_rule(RuleContext& context) {
  context.set_output(0, transpose(context, context.required(0), known_integers(context, 1)));
}

void squeeze(RuleContext& context) {
  const std::vector<std::int64_t> axes = context.integers("squeeze_dims", context.integers("axis"));
  std::vector<Value*> inputs{context.required(0)};
  if (!axes.empty()) inputs.push_back(context.ints(axes));
  context.set_output(0, context.emit("squeeze", inputs));
}

void expand_dims(RuleContext& context) {
  context.set_output(0, context.emit("unsqueeze", {context.required(0), integer_list(context, 1)}));
}

Value* joined(RuleContext& context, std::vector<Value*> parts, std::int64_t axis) {
  check(!parts.empty(), ErrorCode::bad_data, "expected at least one value to join");
  if (parts.size() == 1) return parts[0];
  return context.emit("concat", std::move(parts), with("axis", axis));
}

std::int64_t one_known(const RuleContext& context, std::size_t i) {
  const std::vector<std::int64_t> list = known_integers(context, i);
  check(list.size() == 1, ErrorCode::bad_data, "input {}: expected one number, got {}", i, list.size());
  return list[0];
}

void concat_v2(RuleContext& context) {
  std::vector<Value*> parts = context.all_inputs();
  check(parts.size() >= 2, ErrorCode::bad_data, "{} inputs, expected values and an axis", parts.size());
  const std::int64_t axis = one_known(context, parts.size() - 1);
  parts.pop_back();
  context.set_output(0, joined(context, std::move(parts), axis));
}

void concat(RuleContext& context) {
  std::vector<Value*> parts = context.all_inputs();
  check(parts.size() >= 2, ErrorCode::bad_data, "{} inputs, expected an axis and values", parts.size());
  parts.erase(parts.begin());
  context.set_output(0, joined(context, std::move(parts), one_known(context, 0)));
}

/// All parts, even unread ones: their number determines the sizes.
std::vector<Value*> split_in(RuleContext& context, Value* x, Value* sizes, std::int64_t axis,
                             std::int64_t count) {
  check(count >= 1 && count <= (1 << 16), ErrorCode::bad_data, "a split into {} parts", count);
  const auto rank = static_cast<std::int64_t>(x->type.ranked() ? x->type.rank() : 0);
  if (!sizes && axis >= -rank && axis < rank) {
    const auto whole = x->type.dims()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)].constant();
    check(!whole || *whole % count == 0, ErrorCode::bad_data, "a split of size {} into {} equal parts",
          whole.value_or(0), count);
  }
  AttributeMap attributes = with("axis", axis);
  std::vector<Value*> inputs{x};
  if (sizes)
    inputs.push_back(sizes);
  else
    attributes.set("num_outputs", count);
  const Node* made =
      context.emit_node("split", inputs, std::move(attributes), static_cast<std::size_t>(count));
  std::vector<Value*> parts;
  for (const auto& output : made->outputs()) parts.push_back(output.get());
  return parts;
}

void set_all(RuleContext& context, const std::vector<Value*>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) context.set_output(i, values[i]);
}

void split(RuleContext& context) {
  set_all(context, split_in(context, context.required(1), nullptr, one_known(context, 0),
                            context.integer("num_split", 0)));
}

/// One of the sizes may be -1: the remainder.
void split_v(RuleContext& context) {
  std::vector<std::int64_t> sizes = known_integers(context, 1);
  Value* x = context.required(0);
  const std::int64_t axis = known_axis(context, 2, rank_of(context, 0));
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) {
    const auto whole = x->type.dims()[static_cast<std::size_t>(axis)].constant();
    check(whole.has_value(), ErrorCode::unsupported, "a size of -1 needs a dim that is known before running");
    std::int64_t rest = *whole;
    for (std::int64_t size : sizes) {
      check(size >= -1 && size <= rest, ErrorCode::bad_data, "a split's sizes exceed the dim, {} are left",
            *whole);
      rest -= size == -1 ? 0 : size;
    }
    *open = rest;
  }
  const auto count = static_cast<std::int64_t>(sizes.size());
  set_all(context, split_in(context, x, context.ints(sizes), axis, count));
}

void pack(RuleContext& context) {
  const std::int64_t axis = context.integer("axis", 0);
  std::vector<Value*> parts;
  for (Value* part : context.all_inputs())
    parts.push_back(context.emit("unsqueeze", {part, context.ints({axis})}));
  context.set_output(0, joined(context, std::move(parts), axis));
}

void unpack(RuleContext& context) {
  const std::int64_t axis = context.integer("axis", 0);
  std::vector<Value*> parts =
      split_in(context, context.required(0), nullptr, axis, context.integer("num", 0));
  for (Value*& part : parts) part = context.emit("squeeze", {part, context.ints({axis})});
  set_all(context, parts);
}

void tile(RuleContext& context) {
  context.set_output(0, context.emit("tile", {context.required(0), integers(context, 1)}));
}

void fill(RuleContext& context) {
  context.set_output(0, context.emit("expand", {context.required(1), integers(context, 0)}));
}

void broadcast_to(RuleContext& context) {
  context.set_output(0, context.emit("expand", {context.required(0), integers(context, 1)}));
}

Rule filled_like(double number) {
  return [number](RuleContext& context) {
    Value* x = context.required(0);
    context.set_output(
        0, context.emit("expand", {context.scalar(x->type.dtype(), number), context.emit("shape", {x})}));
  };
}

Rule random_numbers(const char* op) {
  return [op](RuleContext& context) {
    const DType type = context.has_attribute("dtype") ? context.dtype("dtype") : DType::f32;
    Value* like = context.emit("expand", {context.scalar(type, 0), integers(context, 0)});
    context.set_output(0, context.emit(op, {like}));
  };
}

DType out_type(const RuleContext& context) {
  return context.has_attribute("out_type") ? context.dtype("out_type") : DType::i32;
}

Rule measured(const char* op) {
  return [op](RuleContext& context) {
    context.set_output(0, cast(context, context.emit(op, {context.required(0)}), out_type(context)));
  };
}

void rank(RuleContext& context) {
  const auto dims = static_cast<double>(rank_of(context, 0));
  context.set_output(0, context.scalar(DType::i32, dims));
}

/// A condition of rank 1 selects whole rows.
void select(RuleContext& context) {
  Value* condition = context.required(0);
  const std::size_t rank = rank_of(context, 1);
  if (rank_of(context, 0) == 1 && rank > 1) {
    std::vector<std::int64_t> trailing;
    for (std::size_t d = 1; d < rank; ++d) trailing.push_back(static_cast<std::int64_t>(d));
    condition = context.emit("unsqueeze", {condition, context.ints(trailing)});
  }
  context.set_output(0, context.emit("where", {condition, context.required(1), context.required(2)}));
}

/// Indices of true elements, one per row.
void where(RuleContext& context) {
  context.set_output(0, transpose(context, context.emit("non_zero", {context.required(0)}), {1, 0}));
}

/// TensorFlow ignores negative indices; our one_hot counts them from the end.
void one_hot(RuleContext& context) {
  Value *indices = integers(context, 0), *depth = integers(context, 1);
  Value* outside = context.emit("less", {indices, context.scalar(DType::i64, 0)});
  indices = context.emit("where", {outside, depth, indices});
  const auto listed = [&](std::size_t i) {
    return context.emit("reshape", {context.required(i), context.ints({1})});
  };
  Value* values = context.emit("concat", {listed(3), listed(2)}, with("axis", std::int64_t{0}));
  context.set_output(
      0, context.emit("one_hot", {indices, depth, values}, with("axis", context.integer("axis", -1))));
}

void gather(RuleContext& context) {
  check(context.integer("batch_dims", 0) == 0, ErrorCode::unsupported,
        "batch_dims other than 0 is not supported");
  const std::int64_t axis = context.inputs() > 2 ? one_known(context, 2) : 0;
  context.set_output(0,
                     context.emit("gather", {context.required(0), integers(context, 1)}, with("axis", axis)));
}

void gather_nd(RuleContext& context) {
  context.set_output(0, context.emit("gather_nd", {context.required(0), integers(context, 1)}));
}

void scatter_nd(RuleContext& context) {
  Value* updates = context.required(1);
  Value* zeros = context.emit("expand", {context.scalar(updates->type.dtype(), 0), integers(context, 2)});
  context.set_output(0, context.emit("scatter_nd", {zeros, integers(context, 0), updates},
                                     with("reduction", std::string("add"))));
}

void reverse(RuleContext& context) {
  const std::vector<std::int64_t> axes = known_integers(context, 1);
  const std::size_t count = axes.size();
  if (count == 0) return context.set_output(0, context.required(0));
  context.set_output(
      0, context.emit("slice", {context.required(0), context.ints(std::vector<std::int64_t>(count, -1)),
                                context.ints(std::vector<std::int64_t>(count, INT64_MIN)), context.ints(axes),
                                context.ints(std::vector<std::int64_t>(count, -1))}));
}

} // namespace

void add_shape_rules(Rules& rules) {
  rules["Const"] = constant;
  rules["Reshape"] = reshape;
  rules["Transpose"] = transpose_rule;
  rules["Squeeze"] = squeeze;
  rules["ExpandDims"] = expand_dims;
  rules["ConcatV2"] = concat_v2;
  rules["Concat"] = concat;
  rules["Split"] = split;
  rules["SplitV"] = split_v;
  rules["Pack"] = pack;
  rules["Unpack"] = unpack;
  rules["Tile"] = tile;
  rules["Fill"] = fill;
  rules["BroadcastTo"] = broadcast_to;
  rules["ZerosLike"] = filled_like(0);
  rules["OnesLike"] = filled_like(1);
  rules["RandomUniform"] = random_numbers("random_uniform_like");
  rules["RandomStandardNormal"] = random_numbers("random_normal_like");
  rules["Range"] = same("range");
  rules["Shape"] = measured("shape");
  rules["Size"] = measured("size");
  rules["Rank"] = rank;
  rules["Select"] = select;
  rules["SelectV2"] = same("where");
  rules["Where"] = where;
  rules["OneHot"] = one_hot;
  rules["Gather"] = rules["GatherV2"] = gather;
  rules["GatherNd"] = gather_nd;
  rules["ScatterNd"] = scatter_nd;
  rules["ReverseV2"] = reverse;
}

} // namespace lanner::tensorflow
