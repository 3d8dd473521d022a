// Sequences of numbers: turned, shifted, made, searched and cut into buckets.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

Value* whole(RuleContext& context, double number) {
  return context.scalar(DType::i64, number);
}

/// 0, 1, ... below `count`, a number of rank 0.
Value* counted(RuleContext& context, Value* count) {
  return context.emit("range", {whole(context, 0), count, whole(context, 1)});
}

Value* size_at(RuleContext& context, Value* value, std::int64_t axis) {
  return context.emit("gather", {context.emit("shape", {value}), whole(context, static_cast<double>(axis))});
}

/// Our operator reverses dim 0 or 1: batch and sequence are moved there.
void reverse_sequence(RuleContext& context) {
  const auto rank = static_cast<std::int64_t>(rank_of(context, 0));
  const auto dim = [&](const char* name) {
    const std::int64_t given = context.integer(name, 0);
    check(given >= -rank && given < rank, ErrorCode::bad_data, "attribute {} is {} for {} dims", name, given,
          rank);
    return given < 0 ? given + rank : given;
  };
  const std::int64_t sequence = dim("seq_dim"), batch = dim("batch_dim");
  check(sequence != batch, ErrorCode::bad_data, "seq_dim and batch_dim are both {}", batch);
  std::vector<std::int64_t> order{batch, sequence}, back(static_cast<std::size_t>(rank));
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != sequence && d != batch) order.push_back(d);
  for (std::size_t d = 0; d < order.size(); ++d)
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  AttributeMap attributes = with("batch_axis", std::int64_t{0});
  attributes.set("time_axis", std::int64_t{1});
  Value* turned = transpose(context, context.required(0), order);
  Value* reversed = context.emit("reverse_sequence", {turned, integers(context, 1)}, std::move(attributes));
  context.set_output(0, transpose(context, reversed, std::move(back)));
}

/// Element i comes from place (i - shift) of the axis, modulo its size.
Value* rolled(RuleContext& context, Value* x, Value* shift, std::int64_t axis) {
  Value* size = size_at(context, x, axis);
  Value* from = context.emit("mod", {context.emit("sub", {counted(context, size), shift}), size});
  return context.emit("gather", {x, from}, with("axis", axis));
}

void roll(RuleContext& context) {
  const auto rank = static_cast<std::int64_t>(rank_of(context, 0));
  const std::vector<std::int64_t> axes = known_integers(context, 2);
  Value* x = context.required(0);
  Value* shifts = integer_list(context, 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    check(axes[i] >= -rank && axes[i] < rank, ErrorCode::bad_data, "axis {} of {} dims", axes[i], rank);
    Value* shift = context.emit("gather", {shifts, whole(context, static_cast<double>(i))});
    x = rolled(context, x, shift, axes[i] < 0 ? axes[i] + rank : axes[i]);
  }
  context.set_output(0, x);
}

void invert_permutation(RuleContext& context) {
  Value* x = integers(context, 0);
  Value* places = counted(context, size_at(context, x, 0));
  Value* inverted = context.emit("scatter_elements", {x, x, places}, with("axis", std::int64_t{0}));
  context.set_output(0, cast(context, inverted, context.required(0)->type.dtype()));
}

/// The last number is exactly `stop`, and the only one is `start`.
void linear_space(RuleContext& context) {
  Value *start = context.required(0), *stop = context.required(1);
  const DType type = start->type.dtype();
  Value* count = reshaped(context, integers(context, 2), {});
  Value* last = context.emit("max", {context.emit("sub", {count, whole(context, 1)}), whole(context, 1)});
  Value* step = context.emit("div", {context.emit("sub", {stop, start}), cast(context, last, type)});
  Value* place = counted(context, count);
  Value* made = context.emit("add", {start, context.emit("mul", {cast(context, place, type), step})});
  context.set_output(0, context.emit("where", {context.emit("equal", {place, last}), stop, made}));
}

/// How many boundaries are not above an element.
void bucketize(RuleContext& context) {
  const std::vector<double> boundaries = context.reals("boundaries");
  Value* x = unsqueezed(context, cast(context, context.required(0), DType::f64), {-1});
  Value* bounds =
      context.tensor(Tensor::from<double>(boundaries, {static_cast<std::int64_t>(boundaries.size())}));
  Value* reached = context.emit("not", {context.emit("less", {x, bounds})});
  context.set_output(0, context.emit("reduce_sum", {cast(context, reached, DType::i32), context.ints({-1})},
                                     with("keepdims", std::int64_t{0})));
}

/// Rows of sorted numbers, and rows of values to place in them.
Rule bound(const char* comparison) {
  return [comparison](RuleContext& context) {
    Value* sorted = unsqueezed(context, context.required(0), {-2});
    Value* values = unsqueezed(context, context.required(1), {-1});
    Value* before = context.emit(comparison, {sorted, values});
    Value* count = context.emit("reduce_sum", {cast(context, before, DType::i64), context.ints({-1})},
                                with("keepdims", std::int64_t{0}));
    const DType type = context.has_attribute("out_type") ? context.dtype("out_type") : DType::i32;
    context.set_output(0, cast(context, count, type));
  };
}

/// Narrow integers accumulate as i32, which wraps to the same bits.
Rule cumulative(const char* op) {
  return [op](RuleContext& context) {
    AttributeMap attributes;
    attributes.set("exclusive", context.integer("exclusive", 0));
    attributes.set("reverse", context.integer("reverse", 0));
    Value* x = context.required(0);
    const DType type = x->type.dtype();
    Value* wide = !is_real(x) && bit_width(type) < 32 ? cast(context, x, DType::i32) : x;
    Value* sums = context.emit(op, {wide, integers(context, 1)}, std::move(attributes));
    context.set_output(0, cast(context, sums, type));
  };
}

/// Whether the class is among the k best of its row: fewer than k scores are above its own.
void in_top_k(RuleContext& context) {
  Value *scores = context.required(0), *classes = integers(context, 1);
  Value* own = context.emit("gather_elements", {scores, unsqueezed(context, classes, {-1})},
                            with("axis", std::int64_t{1}));
  Value* above = cast(context, context.emit("greater", {scores, own}), DType::i64);
  Value* count = context.emit("reduce_sum", {above, context.ints({1})}, with("keepdims", std::int64_t{0}));
  Value* k = context.node.op == "InTopK" ? whole(context, static_cast<double>(context.integer("k", 1)))
                                         : integers(context, 2);
  context.set_output(0, context.emit("less", {count, k}));
}

/// The place of each number of a tensor in all of its dims: a row a dim.
void unravel_index(RuleContext& context) {
  Value *places = integers(context, 0), *sizes = integers(context, 1);
  AttributeMap attributes = with("exclusive", std::int64_t{1});
  attributes.set("reverse", std::int64_t{1});
  Value* steps = context.emit("cum_prod", {sizes, whole(context, 0)}, std::move(attributes));
  const std::size_t rank = rank_of(context, 0);
  check(rank <= 1, ErrorCode::bad_data, "input 0 is of rank {}, expected a number or a list", rank);
  const auto by_dim = [&](Value* list) { return rank == 0 ? list : unsqueezed(context, list, {1}); };
  Value* place = context.emit("mod", {context.emit("div", {places, by_dim(steps)}), by_dim(sizes)});
  context.set_output(0, cast(context, place, context.required(0)->type.dtype()));
}

/// The element that would stand at place n of the sorted last dim.
void nth_element(RuleContext& context) {
  Value* n = integer_list(context, 1);
  AttributeMap attributes = with("axis", std::int64_t{-1});
  attributes.set("largest", context.integer("reverse", 0));
  Value* count = context.emit("add", {n, context.ints({1})});
  const Node* best = context.emit_node("top_k", {context.required(0), count}, std::move(attributes), 2);
  Value* place = reshaped(context, n, {});
  context.set_output(0, context.emit("gather", {best->output(0), place}, with("axis", std::int64_t{-1})));
}

} // namespace

void add_sequence_rules(Rules& rules) {
  rules["ReverseSequence"] = reverse_sequence;
  rules["Roll"] = roll;
  rules["InvertPermutation"] = invert_permutation;
  rules["LinSpace"] = linear_space;
  rules["Bucketize"] = bucketize;
  rules["LowerBound"] = bound("less");
  rules["UpperBound"] = bound("less_or_equal");
  rules["Cumsum"] = cumulative("cum_sum");
  rules["Cumprod"] = cumulative("cum_prod");
  rules["UnravelIndex"] = unravel_index;
  rules["NthElement"] = nth_element;
  rules["InTopK"] = rules["InTopKV2"] = in_top_k;
  note_limit(rules, {"Roll"}, open_setting);
}

} // namespace lanner::tensorflow
