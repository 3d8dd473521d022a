// Elements read from and written to places given by indices.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* open_axis = "the axis must be known before running; make it a constant";
constexpr const char* refused_string_scatter = "scattered strings; keep text outside of the network";

std::int64_t axis_of(const RuleContext& context, std::size_t input, std::size_t rank) {
  if (context.inputs() <= input) return 0;
  check(context.constant(input) != nullptr, ErrorCode::unsupported, "{}", open_axis);
  return known_axis(context, input, rank);
}

/// Gathers along `axis` within each of the first `batches` dims, by gather_nd on data whose axis comes first.
Value* batch_gather(RuleContext& context, Value* data, Value* indices, std::int64_t axis,
                    std::int64_t batches) {
  const auto rank = static_cast<std::int64_t>(rank_of(context, 0)),
             index_rank = static_cast<std::int64_t>(rank_of(context, 1));
  check(batches >= 0 && batches <= axis && batches <= index_rank, ErrorCode::bad_data,
        "batch_dims is {} for axis {} and indices of rank {}", batches, axis, index_rank);
  std::vector<std::int64_t> order;
  for (std::int64_t d = 0; d < batches; ++d) order.push_back(d);
  order.push_back(axis);
  for (std::int64_t d = batches; d < rank; ++d)
    if (d != axis) order.push_back(d);
  Value* turned = axis == batches ? data : transpose(context, data, order);
  Value* found =
      context.emit("gather_nd", {turned, unsqueezed(context, indices, {-1})}, with("batch_dims", batches));
  if (axis == batches) return found;
  // [batches, indices, dims before the axis, dims behind it]
  const std::int64_t own = index_rank - batches, before = axis - batches;
  std::vector<std::int64_t> back;
  for (std::int64_t d = 0; d < batches; ++d) back.push_back(d);
  for (std::int64_t d = 0; d < before; ++d) back.push_back(batches + own + d);
  for (std::int64_t d = 0; d < own; ++d) back.push_back(batches + d);
  for (std::int64_t d = batches + own + before; d < rank - 1 + own; ++d) back.push_back(d);
  return transpose(context, found, std::move(back));
}

void gather(RuleContext& context) {
  Value *data = context.required(0), *indices = integers(context, 1);
  std::int64_t batches = context.integer("batch_dims", 0);
  if (batches < 0) batches += static_cast<std::int64_t>(rank_of(context, 1));
  if (batches == 0 && context.inputs() <= 2)
    return context.set_output(0, context.emit("gather", {data, indices}, with("axis", std::int64_t{0})));
  if (batches == 0 && context.constant(2) && !data->type.ranked())
    return context.set_output(
        0, context.emit("gather", {data, indices}, with("axis", known_integer(context, 2))));
  const std::int64_t axis = axis_of(context, 2, rank_of(context, 0));
  context.set_output(0, batches == 0 ? context.emit("gather", {data, indices}, with("axis", axis))
                                     : batch_gather(context, data, indices, axis, batches));
}

void gather_nd(RuleContext& context) {
  context.set_output(0, context.emit("gather_nd", {context.required(0), integers(context, 1)}));
}

/// Booleans are added as numbers: any of them that is true wins.
Value* scattered(RuleContext& context, Value* onto, Value* indices, Value* updates,
                 const std::string& reduction) {
  check(onto->type.dtype() != DType::string, ErrorCode::unsupported, "{}", refused_string_scatter);
  if (onto->type.dtype() != DType::boolean || reduction == "none")
    return context.emit("scatter_nd", {onto, indices, updates}, with("reduction", reduction));
  Value* sums = context.emit("scatter_nd",
                             {cast(context, onto, DType::i32), indices, cast(context, updates, DType::i32)},
                             with("reduction", reduction));
  return cast(context, sums, DType::boolean);
}

void scatter_nd(RuleContext& context) {
  Value* updates = context.required(1);
  check(updates->type.dtype() != DType::string, ErrorCode::unsupported, "{}", refused_string_scatter);
  Value* zeros = context.emit("expand", {number_like(context, updates, 0), integers(context, 2)});
  context.set_output(0, scattered(context, zeros, integers(context, 0), updates, "add"));
}

Rule tensor_scatter(const char* reduction, bool negated = false) {
  return [=](RuleContext& context) {
    Value* updates = context.required(2);
    if (negated) updates = context.emit("neg", {updates});
    context.set_output(0, scattered(context, context.required(0), integers(context, 1), updates, reduction));
  };
}

/// Indices are a number, a list of them or a list of places; values are one for each or one for all.
void sparse_to_dense(RuleContext& context) {
  Value *indices = integers(context, 0), *sizes = integer_list(context, 1), *values = context.required(2);
  Value* dense = context.emit("expand", {context.required(3), sizes});
  const std::size_t rank = rank_of(context, 0);
  if (rank < 2) indices = reshaped(context, indices, {-1, 1});
  Value* count = context.emit("shape", {indices}, with("end", std::int64_t{1}));
  values = context.emit("expand", {values, count});
  context.set_output(0, scattered(context, dense, indices, values, "none"));
}

/// The dims of `value` from `first` on.
Value* sizes_from(RuleContext& context, Value* value, std::size_t first) {
  return context.emit("shape", {value}, with("start", static_cast<std::int64_t>(first)));
}

Value* joined_sizes(RuleContext& context, std::vector<Value*> parts) {
  return context.emit("concat", std::move(parts), with("axis", std::int64_t{0}));
}

/// Rows of all lists, each to the place that its index says; of equal indices the last one counts.
void dynamic_stitch(RuleContext& context) {
  const std::size_t count = context.inputs() / 2;
  check(count > 0 && context.inputs() == 2 * count, ErrorCode::bad_data,
        "{} inputs; expected as many lists of indices as of rows", context.inputs());
  std::vector<Value*> places, rows;
  Value* row_sizes = sizes_from(context, context.required(count), rank_of(context, 0));
  Value* all = joined_sizes(context, {context.ints({-1}), row_sizes});
  for (std::size_t i = 0; i < count; ++i) {
    places.push_back(reshaped(context, integers(context, i), {-1}));
    rows.push_back(
        context.emit("reshape", {context.required(count + i), all}, with("allowzero", std::int64_t{0})));
  }
  Value* place = context.emit("concat", places, with("axis", std::int64_t{0}));
  Value* data = context.emit("concat", rows, with("axis", std::int64_t{0}));
  Value* last = context.emit("reduce_max", {place}, with("keepdims", std::int64_t{1}));
  Value* sizes = joined_sizes(context, {context.emit("add", {last, context.ints({1})}), row_sizes});
  Value* empty = context.emit("expand", {number_like(context, data, 0), sizes});
  context.set_output(0, scattered(context, empty, unsqueezed(context, place, {1}), data, "none"));
}

/// Rows of each partition, in their order.
void dynamic_partition(RuleContext& context) {
  Value *data = context.required(0), *partitions = integers(context, 1);
  const std::size_t rank = rank_of(context, 1);
  Value* rows = context.emit(
      "reshape", {data, joined_sizes(context, {context.ints({-1}), sizes_from(context, data, rank)})});
  Value* which = reshaped(context, partitions, {-1});
  const std::int64_t count = context.integer("num_partitions", 0);
  check(count >= 1 && count <= (1 << 16), ErrorCode::bad_data, "num_partitions is {}", count);
  for (std::int64_t i = 0; i < count; ++i) {
    Value* chosen = context.emit("equal", {which, context.scalar(DType::i64, static_cast<double>(i))});
    context.set_output(static_cast<std::size_t>(i),
                       context.emit("compress", {rows, chosen}, with("axis", std::int64_t{0})));
  }
}

DType index_type(const RuleContext& context) {
  return context.has_attribute("out_idx") ? context.dtype("out_idx") : DType::i32;
}

constexpr const char* unique_rows =
    "unique rows along an axis of a tensor of several dims; use tf.unique on a list of their numbers";

/// Distinct elements in the order of their first occurrence, the place of each, and how often it occurs.
void unique(RuleContext& context) {
  Value* x = context.required(0);
  check(rank_of(context, 0) == 1, ErrorCode::unsupported, "{}", unique_rows);
  Node* made = context.emit_node("unique", {x}, with("sorted", std::int64_t{0}), 4);
  context.set_output(0, made->output(0));
  context.set_output(1, cast(context, made->output(2), index_type(context)));
  if (context.node.op.starts_with("UniqueWithCounts"))
    context.set_output(2, cast(context, made->output(3), index_type(context)));
}

/// Elements of the first list that the second lacks, and their places.
void list_difference(RuleContext& context) {
  Value *x = context.required(0), *y = context.required(1);
  Value* equal = context.emit("equal", {unsqueezed(context, x, {1}), unsqueezed(context, y, {0})});
  AttributeMap attributes = with("keepdims", std::int64_t{0});
  Value* found = context.emit("reduce_sum", {cast(context, equal, DType::i64), context.ints({1})},
                              std::move(attributes));
  Value* absent = context.emit("equal", {found, context.scalar(DType::i64, 0)});
  context.set_output(0, context.emit("compress", {x, absent}, with("axis", std::int64_t{0})));
  Value* places = reshaped(context, context.emit("non_zero", {absent}), {-1});
  context.set_output(1, cast(context, places, index_type(context)));
}

} // namespace

void add_index_rules(Rules& rules) {
  rules["Gather"] = rules["GatherV2"] = rules["ResourceGather"] = {gather, {open_axis}};
  rules["GatherNd"] = gather_nd;
  rules["ScatterNd"] = {scatter_nd, {refused_string_scatter}};
  rules["TensorScatterUpdate"] = {tensor_scatter("none"), {refused_string_scatter}};
  rules["TensorScatterAdd"] = rules["ScatterNdNonAliasingAdd"] = tensor_scatter("add");
  rules["TensorScatterSub"] = tensor_scatter("add", true);
  rules["TensorScatterMax"] = tensor_scatter("max");
  rules["TensorScatterMin"] = tensor_scatter("min");
  rules["SparseToDense"] = {sparse_to_dense, {refused_string_scatter}};
  rules["DynamicStitch"] = rules["ParallelDynamicStitch"] = {dynamic_stitch, {refused_string_scatter}};
  rules["DynamicPartition"] = dynamic_partition;
  rules["Unique"] = rules["UniqueV2"] = rules["UniqueWithCounts"] =
      rules["UniqueWithCountsV2"] = {unique, {unique_rows}};
  rules["ListDiff"] = list_difference;
}

} // namespace lanner::tensorflow
