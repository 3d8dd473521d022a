// Shapes, constants and movement of whole dims.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

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

void concat_v2(RuleContext& context) {
  std::vector<Value*> parts = context.all_inputs();
  check(parts.size() >= 2, ErrorCode::bad_data, "{} inputs, expected values and an axis", parts.size());
  const std::int64_t axis = known_integer(context, parts.size() - 1);
  parts.pop_back();
  context.set_output(0, joined(context, std::move(parts), axis));
}

void concat(RuleContext& context) {
  std::vector<Value*> parts = context.all_inputs();
  check(parts.size() >= 2, ErrorCode::bad_data, "{} inputs, expected an axis and values", parts.size());
  parts.erase(parts.begin());
  context.set_output(0, joined(context, std::move(parts), known_integer(context, 0)));
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
  set_all(context, split_in(context, context.required(1), nullptr, known_integer(context, 0),
                            context.integer("num_split", 0)));
}

/// The size of the part whose size is left open, as a list of one number.
Value* rest_of(RuleContext& context, Value* x, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  std::int64_t taken = 0;
  for (std::int64_t size : sizes) {
    check(size >= -1 && size < (std::int64_t{1} << 40), ErrorCode::bad_data, "a split's size is {}", size);
    taken += size == -1 ? 0 : size;
  }
  const auto whole = x->type.dims()[static_cast<std::size_t>(axis)].constant();
  check(!whole || taken <= *whole, ErrorCode::bad_data, "a split's sizes exceed the dim, {} are left",
        whole.value_or(0));
  if (whole) return context.ints({*whole - taken});
  AttributeMap attributes = with("start", axis);
  attributes.set("end", axis + 1);
  return context.emit("sub", {context.emit("shape", {x}, std::move(attributes)), context.ints({taken})});
}

/// One of the sizes may be -1: the remainder.
void split_v(RuleContext& context) {
  const std::vector<std::int64_t> sizes = known_integers(context, 1);
  Value* x = context.required(0);
  const std::int64_t axis = known_axis(context, 2, rank_of(context, 0));
  std::vector<Value*> parts;
  for (std::int64_t size : sizes)
    parts.push_back(size == -1 ? rest_of(context, x, sizes, axis) : context.ints({size}));
  check(!parts.empty(), ErrorCode::bad_data, "a split into no parts");
  const auto count = static_cast<std::int64_t>(sizes.size());
  set_all(context, split_in(context, x, joined(context, std::move(parts), 0), axis, count));
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

void shapes(RuleContext& context) {
  for (std::size_t i = 0; i < context.inputs(); ++i)
    context.set_output(i, cast(context, context.emit("shape", {context.required(i)}), out_type(context)));
}

/// Sizes aligned at the last one; of two the one that is not 1.
void broadcast_sizes(RuleContext& context) {
  Value *a = integers(context, 0), *b = integers(context, 1);
  const auto ranks = [](const Value* list) { return known_size(list, 0); };
  check(ranks(a) && ranks(b), ErrorCode::unsupported, "the numbers of sizes must be known before running");
  const auto front = [&](Value* list, std::int64_t missing) {
    return missing > 0
               ? joined(context,
                        {context.ints(std::vector<std::int64_t>(static_cast<std::size_t>(missing), 1)), list},
                        0)
               : list;
  };
  check(*ranks(a) <= 64 && *ranks(b) <= 64, ErrorCode::bad_data, "more than 64 sizes");
  a = front(a, *ranks(b) - *ranks(a));
  b = front(b, *ranks(a) - *ranks(b));
  Value* ones = context.emit("equal", {a, context.scalar(DType::i64, 1)});
  context.set_output(0,
                     cast(context, context.emit("where", {ones, b, a}), context.required(0)->type.dtype()));
}

/// For each letter of the destination its place in the source.
std::vector<std::int64_t> letter_places(const RuleContext& context) {
  const std::string from = context.string("src_format", "NHWC"), to = context.string("dst_format", "NCHW");
  check(from.size() == to.size() && (from.size() == 4 || from.size() == 5), ErrorCode::bad_data,
        "formats {} and {}", from, to);
  std::vector<std::int64_t> places;
  for (char letter : to) {
    const std::size_t place = from.find(letter);
    check(place != std::string::npos, ErrorCode::bad_data, "formats {} and {}", from, to);
    places.push_back(static_cast<std::int64_t>(place));
  }
  return places;
}

/// Of a list that leaves out batch and channels, only the spatial letters count.
void permute_by_format(RuleContext& context) {
  std::vector<std::int64_t> places = letter_places(context);
  Value* x = context.required(0);
  const auto count = known_size(x, 0);
  check(count.has_value(), ErrorCode::unsupported, "the number of rows must be known before running");
  if (static_cast<std::size_t>(*count) + 2 == places.size()) {
    const std::string from = context.string("src_format", "NHWC"), to = context.string("dst_format", "NCHW");
    std::string inner;
    for (char letter : from)
      if (letter != 'N' && letter != 'C') inner += letter;
    places.clear();
    for (char letter : to)
      if (letter != 'N' && letter != 'C') places.push_back(static_cast<std::int64_t>(inner.find(letter)));
  }
  context.set_output(0, context.emit("gather", {x, context.ints(places)}, with("axis", std::int64_t{0})));
}

/// The place in the destination of each dim of the source.
void map_by_format(RuleContext& context) {
  const std::vector<std::int64_t> places = letter_places(context);
  std::vector<std::int32_t> of(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    of[static_cast<std::size_t>(places[i])] = static_cast<std::int32_t>(i);
  Value* table = context.tensor(Tensor::from<std::int32_t>(of, {static_cast<std::int64_t>(of.size())}));
  Value* mapped = context.emit("gather", {table, integers(context, 0)}, with("axis", std::int64_t{0}));
  context.set_output(0, cast(context, mapped, context.required(0)->type.dtype()));
}

/// Where each part begins in the joined tensor.
void concat_offset(RuleContext& context) {
  const std::int64_t axis = known_integer(context, 0);
  const auto rank = known_size(context.required(1), 0);
  check(rank && *rank <= 64 && axis >= -*rank && axis < *rank, ErrorCode::bad_data,
        "axis {} is not one of the parts' dims", axis);
  const std::int64_t place = axis < 0 ? axis + *rank : axis;
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(*rank), 0);
  chosen[static_cast<std::size_t>(place)] = 1;
  const DType type = context.required(1)->type.dtype();
  Value* offset = context.ints(std::vector<std::int64_t>(static_cast<std::size_t>(*rank), 0));
  for (std::size_t i = 1; i < context.inputs(); ++i) {
    context.set_output(i - 1, cast(context, offset, type));
    offset = context.emit("add", {offset, context.emit("mul", {integers(context, i), context.ints(chosen)})});
  }
}

void empty(RuleContext& context) {
  Value* zero = context.scalar(context.dtype("dtype"), 0);
  context.set_output(0, context.emit("expand", {zero, integers(context, 0)}));
}

void rank(RuleContext& context) {
  const auto dims = static_cast<double>(rank_of(context, 0));
  context.set_output(0, context.scalar(DType::i32, dims));
}

/// The condition with dims of 1 behind its own, as many as `x` has more; counted at run time.
Value* as_rows(RuleContext& context, Value* condition, Value* x) {
  Value *sizes = context.emit("shape", {condition}), *all = context.emit("shape", {x});
  Value* more = context.emit("sub", {context.emit("shape", {all}), context.emit("shape", {sizes})});
  Value* ones = context.emit("expand", {context.scalar(DType::i64, 1), more});
  return context.emit("reshape", {condition, joined(context, {sizes, ones}, 0)},
                      with("allowzero", std::int64_t{1}));
}

/// A condition of rank 1 selects whole rows.
void select(RuleContext& context) {
  Value *condition = context.required(0), *x = context.required(1);
  const bool known = condition->type.ranked() && (condition->type.rank() != 1 || x->type.ranked());
  if (!known) {
    condition = as_rows(context, condition, x);
  } else if (condition->type.rank() == 1 && x->type.rank() > 1) {
    std::vector<std::int64_t> trailing;
    for (std::size_t d = 1; d < x->type.rank(); ++d) trailing.push_back(static_cast<std::int64_t>(d));
    condition = unsqueezed(context, condition, std::move(trailing));
  }
  context.set_output(0, context.emit("where", {condition, x, context.required(2)}));
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

std::vector<std::int64_t> cast_values(const Tensor& flags) {
  Tensor wide = Tensor::allocate(DType::i64, flags.shape());
  copy_tensor(flags, wide);
  const auto elements = wide.as<std::int64_t>();
  return {elements.begin(), elements.end()};
}

void reverse_along(RuleContext& context, const std::vector<std::int64_t>& axes) {
  const std::size_t count = axes.size();
  if (count == 0) return context.set_output(0, context.required(0));
  context.set_output(
      0, context.emit("slice", {context.required(0), context.ints(std::vector<std::int64_t>(count, -1)),
                                context.ints(std::vector<std::int64_t>(count, INT64_MIN)), context.ints(axes),
                                context.ints(std::vector<std::int64_t>(count, -1))}));
}

void reverse(RuleContext& context) {
  reverse_along(context, known_integers(context, 1));
}

/// The old form: a flag for each dim.
void reverse_flagged(RuleContext& context) {
  const Tensor* flags = context.constant(1);
  check(flags && flags->dtype() == DType::boolean, ErrorCode::unsupported, "input 1: {}", open_setting);
  std::vector<std::int64_t> axes;
  const auto chosen = cast_values(*flags);
  for (std::size_t d = 0; d < chosen.size(); ++d)
    if (chosen[d] != 0) axes.push_back(static_cast<std::int64_t>(d));
  reverse_along(context, axes);
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
  rules["ShapeN"] = shapes;
  rules["BroadcastArgs"] = broadcast_sizes;
  rules["DataFormatVecPermute"] = permute_by_format;
  rules["DataFormatDimMap"] = map_by_format;
  rules["ConcatOffset"] = concat_offset;
  rules["Empty"] = empty;
  rules["Select"] = select;
  rules["SelectV2"] = same("where");
  rules["Where"] = where;
  rules["OneHot"] = one_hot;
  rules["ReverseV2"] = reverse;
  rules["Reverse"] = reverse_flagged;
  note_limit(rules,
             {"Transpose", "Concat", "ConcatV2", "ConcatOffset", "Split", "SplitV", "Reverse", "ReverseV2"},
             open_setting);
}

} // namespace lanner::tensorflow
