// Shapes, slices and arg max.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/caffe/rules.h"

namespace lanner::caffe {
namespace {

void pass_on(RuleContext& context) {
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) context.set_output(i, context.required(0));
}

/// Old files have another field for the axis.
std::int64_t joining_axis(const RuleContext& context, const char* old_name) {
  return context.has_attribute(old_name) ? axis_of(context, old_name, 1) : axis_of(context, "axis", 1);
}

void concat(RuleContext& context) {
  context.set_output(
      0, context.emit("concat", context.all_inputs(), with("axis", joining_axis(context, "concat_dim"))));
}

void slice(RuleContext& context) {
  const std::int64_t axis = joining_axis(context, "slice_dim");
  const std::vector<std::int64_t> points = context.integers("slice_point");
  const std::size_t count = context.node.outputs.size();
  AttributeMap attributes = with("axis", axis);
  std::vector<Value*> inputs{context.required(0)};
  const auto whole = inputs[0]->type.dims()[static_cast<std::size_t>(axis)].constant();
  if (points.empty()) {
    check(!whole || (count > 0 && *whole % static_cast<std::int64_t>(count) == 0), ErrorCode::bad_data,
          "{} elements do not divide into {} tops; expected slice_point", whole.value_or(0), count);
    attributes.set("num_outputs", static_cast<std::int64_t>(count));
  } else {
    check(whole.has_value(), ErrorCode::unsupported,
          "the size of the sliced dim must be known before running");
    check(points.size() + 1 == count, ErrorCode::bad_data, "{} points make {} slices, there are {} tops",
          points.size(), points.size() + 1, count);
    std::vector<std::int64_t> sizes;
    std::int64_t from = 0;
    for (std::int64_t point : points) {
      check(point > from && point < *whole, ErrorCode::bad_data, "slice_point {} is out of order or range",
            point);
      sizes.push_back(point - from);
      from = point;
    }
    sizes.push_back(*whole - from);
    inputs.push_back(context.ints(sizes));
  }
  context.set_outputs(*context.emit_node("split", inputs, std::move(attributes), count));
}

std::vector<std::int64_t> known_sizes(const Value* value, std::size_t first) {
  std::vector<std::int64_t> sizes;
  for (std::size_t d = first; d < value->type.rank(); ++d) {
    const auto size = value->type.dims()[d].constant();
    check(size.has_value(), ErrorCode::unsupported, "dim {} of its input must be known before running", d);
    sizes.push_back(*size);
  }
  return sizes;
}

/// Dims before `axis` as they are, then `middle`, then those from `end` on. A 0 in `middle` copies the
/// input's dim at that index.
void reshaped(RuleContext& context, std::int64_t axis, const std::vector<std::int64_t>& middle,
              std::int64_t end) {
  Value* x = context.required(0);
  std::vector<std::int64_t> target(static_cast<std::size_t>(axis), 0);
  target.insert(target.end(), middle.begin(), middle.end());
  const std::vector<std::int64_t> rest = known_sizes(x, static_cast<std::size_t>(end));
  target.insert(target.end(), rest.begin(), rest.end());
  context.set_output(0, context.emit("reshape", {x, context.ints(target)}));
}

void flatten(RuleContext& context) {
  const std::int64_t axis = axis_of(context, "axis", 1), last = axis_of(context, "end_axis", -1);
  check(axis <= last, ErrorCode::bad_data, "axis {} comes after end_axis {}", axis, last);
  reshaped(context, axis, {-1}, last + 1);
}

void reshape(RuleContext& context) {
  const auto rank = static_cast<std::int64_t>(rank_of(context));
  const std::int64_t given = context.integer("axis", 0), axis = given < 0 ? given + rank + 1 : given,
                     axes = context.integer("num_axes", -1);
  const bool fits = axis >= 0 && axis <= rank && axes >= -1 && axes <= rank - axis;
  const std::int64_t end = axes == -1 || !fits ? rank : axis + axes;
  check(fits, ErrorCode::bad_data, "axis {} and num_axes {} for rank {}", given, axes, rank);
  reshaped(context, axis, context.integers("shape"), end);
}

void permute(RuleContext& context) {
  const std::vector<std::int64_t> order = context.integers("order");
  std::vector<std::int64_t> whole = order;
  // Dims that `order` does not list follow in their original order.
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(rank_of(context)); ++d)
    if (std::count(order.begin(), order.end(), d) == 0) whole.push_back(d);
  context.set_output(0, context.emit("transpose", {context.required(0)}, with("perm", whole)));
}

/// Checks the crop of one dim; sizes known only at run time are clamped by the slice instead.
void require_within(const RuleContext& context, std::size_t dim, std::int64_t offset) {
  check(offset >= 0, ErrorCode::bad_data, "offset {} is negative", offset);
  check(rank_of(context, 1) == rank_of(context), ErrorCode::bad_data, "inputs of rank {} and {}",
        rank_of(context), rank_of(context, 1));
  const auto whole = context.required(0)->type.dims()[dim].constant(),
             wanted = context.required(1)->type.dims()[dim].constant();
  check(!whole || !wanted || (*wanted <= *whole && offset <= *whole - *wanted), ErrorCode::bad_data,
        "dim {}: {} elements from {} on exceed its size {}", dim, wanted.value_or(0), offset,
        whole.value_or(0));
}

/// Input 0 from an offset on, as large as input 1 from `axis` on.
void crop(RuleContext& context) {
  const std::int64_t axis = axis_of(context, "axis", 2), rank = static_cast<std::int64_t>(rank_of(context));
  std::vector<std::int64_t> offsets = context.integers("offset", {0}),
                            axes(static_cast<std::size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  if (offsets.size() == 1) offsets.resize(axes.size(), offsets[0]);
  check(offsets.size() == axes.size(), ErrorCode::bad_data, "{} offsets for {} dims", offsets.size(),
        axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    require_within(context, static_cast<std::size_t>(axis) + i, offsets[i]);
  Value* sizes = context.emit("shape", {context.required(1)}, with("start", axis));
  Value* ends = context.emit("add", {sizes, context.ints(offsets)});
  context.set_output(
      0, context.emit("slice", {context.required(0), context.ints(offsets), ends, context.ints(axes)}));
}

Value* as_reals(RuleContext& context, Value* value) {
  return context.emit("cast", {value}, with("to", DType::f32));
}

/// The indices of the largest elements along `axis`, and these elements. Of equal elements Caffe takes the
/// last first, `top_k` the first: so it gets them in reverse.
std::pair<Value*, Value*> largest(RuleContext& context, Value* x, std::int64_t axis, std::int64_t count) {
  Value* reversed = context.emit(
      "slice", {x, context.ints({-1}), context.ints({INT64_MIN}), context.ints({axis}), context.ints({-1})});
  Node* top = context.emit_node("top_k", {reversed, context.ints({count})}, with("axis", axis), 2);
  AttributeMap of_axis = with("start", axis);
  of_axis.set("end", axis + 1);
  Value* size = context.emit("shape", {x}, std::move(of_axis));
  Value* last = context.emit("sub", {size, context.ints({1})});
  return {as_reals(context, context.emit("sub", {last, top->output(1)})), top->output(0)};
}

/// Without an axis all dims but the first are flattened into one, and the output [items, 1, top_k, 1, ...]
/// has as many dims as the input, three at least, and a second channel for values where these are asked for.
void arg_max(RuleContext& context) {
  const std::int64_t count = context.integer("top_k", 1);
  check(count >= 1, ErrorCode::bad_data, "top_k is {}, expected at least 1", count);
  const bool values = context.integer("out_max_val", 0) != 0, along = context.has_attribute("axis");
  Value* x = context.required(0);
  const std::size_t rank = rank_of(context);
  if (!along) x = context.emit("reshape", {x, context.ints({0, -1})});
  const auto [places, tops] = largest(context, x, along ? axis_of(context, "axis", 1) : 1, count);
  if (along) return context.set_output(0, values ? tops : places);
  std::vector<std::int64_t> added{1};
  for (std::size_t d = 3; d < rank; ++d) added.push_back(static_cast<std::int64_t>(d));
  const auto channel = [&](Value* value) { return context.emit("unsqueeze", {value, context.ints(added)}); };
  Value* indices = channel(places);
  context.set_output(
      0, values ? context.emit("concat", {indices, channel(tops)}, with("axis", std::int64_t{1})) : indices);
}

void reduction(RuleContext& context) {
  static constexpr const char* operations[] = {"", "reduce_sum", "reduce_l1", "reduce_sum_square",
                                               "reduce_mean"};
  const std::int64_t operation = context.integer("operation", 1), axis = axis_of(context, "axis", 0);
  check(operation >= 1 && operation <= 4, ErrorCode::bad_data,
        "operation {}; expected SUM, ASUM, SUMSQ or MEAN", operation);
  std::vector<std::int64_t> axes(rank_of(context) - static_cast<std::size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  Value* y = context.emit(operations[operation], {context.required(0), context.ints(axes)},
                          with("keepdims", std::int64_t{0}));
  if (const double factor = context.real("coeff", 1); factor != 1)
    y = context.emit("mul", {y, context.scalar(DType::f32, factor)});
  context.set_output(0, y);
}

void tile(RuleContext& context) {
  const std::int64_t count = context.integer("tiles", 0);
  check(count >= 1, ErrorCode::bad_data, "tiles is {}, expected at least 1", count);
  std::vector<std::int64_t> counts(rank_of(context), 1);
  counts[static_cast<std::size_t>(axis_of(context, "axis", 1))] = count;
  context.set_output(0, context.emit("tile", {context.required(0), context.ints(counts)}));
}

} // namespace

void add_shape_rules(Rules& rules) {
  rules["Dropout"] = rules["Split"] = pass_on;
  rules["Concat"] = concat;
  rules["Slice"] = slice;
  rules["Flatten"] = flatten;
  rules["Reshape"] = reshape;
  rules["Permute"] = permute;
  rules["Crop"] = crop;
  rules["ArgMax"] = arg_max;
  rules["Reduction"] = reduction;
  rules["Tile"] = tile;
}

} // namespace lanner::caffe
