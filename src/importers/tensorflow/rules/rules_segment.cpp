// Rows reduced by the segment that each belongs to, and counts.

#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"
#include "tensor/largest_finite.h"

namespace lanner::tensorflow {
namespace {

Value* first_axis_joined(RuleContext& context, std::vector<Value*> parts) {
  return context.emit("concat", std::move(parts), with("axis", std::int64_t{0}));
}

/// The largest or least number of the element type of `x`.
Value* extreme_of(RuleContext& context, Value* x, bool largest) {
  const auto made = [&](auto most, auto least) {
    return context.tensor(Tensor::scalar(largest ? most : least));
  };
  const auto whole = [&]<typename T>(T) {
    return made(std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest());
  };
  switch (x->type.dtype()) {
  case DType::i8:
    return whole(std::int8_t{});
  case DType::u8:
    return whole(std::uint8_t{});
  case DType::i16:
    return whole(std::int16_t{});
  case DType::u16:
    return whole(std::uint16_t{});
  case DType::i32:
    return whole(std::int32_t{});
  case DType::u32:
    return whole(std::uint32_t{});
  case DType::i64:
    return whole(std::int64_t{});
  case DType::u64:
    return whole(std::uint64_t{});
  case DType::f16:
  case DType::bf16:
  case DType::f32:
  case DType::f64: {
    const double most = largest_finite(x->type.dtype());
    return number_like(context, x, largest ? most : -most);
  }
  default:
    fail(ErrorCode::bad_data, "segments of {}", to_string(x->type.dtype()));
  }
}

struct Reduction {
  std::string op; ///< add, mul, max or min.
  Value* start(RuleContext& context, Value* x) const {
    if (op == "max" || op == "min") return extreme_of(context, x, op == "min");
    return number_like(context, x, op == "mul" ? 1 : 0);
  }
};

/// Row i of the result reduces the rows of `data` whose id is i; rows of negative ids are left out. Ids have
/// the first dims of `data`, `id_rank` of them; `count` is a list of one number.
Value* segments(RuleContext& context, Value* data, Value* ids, std::size_t id_rank, Value* count,
                const Reduction& reduction) {
  Value* sizes = context.emit("shape", {data}, with("start", static_cast<std::int64_t>(id_rank)));
  Value* rows = context.emit("reshape", {data, first_axis_joined(context, {context.ints({-1}), sizes})});
  Value* flat = reshaped(context, ids, {-1});
  Value* outside = context.emit("less", {flat, context.scalar(DType::i64, 0)});
  flat = context.emit("where", {outside, count, flat}); // a last row that is cut off
  Value* more = context.emit("add", {count, context.ints({1})});
  Value* empty =
      context.emit("expand", {reduction.start(context, data), first_axis_joined(context, {more, sizes})});
  Value* sums = context.emit("scatter_nd", {empty, unsqueezed(context, flat, {1}), rows},
                             with("reduction", reduction.op));
  return context.emit("slice", {sums, context.ints({0}), count, context.ints({0})});
}

Rule unsorted_segments(const char* op) {
  return [op](RuleContext& context) {
    Value* count = reshaped(context, integers(context, 2), {1});
    context.set_output(0, segments(context, context.required(0), integers(context, 1), rank_of(context, 1),
                                   count, Reduction{op}));
  };
}

/// One more than the last id.
Value* count_of(RuleContext& context, Value* ids) {
  Value* last = context.emit("reduce_max", {ids}, with("keepdims", std::int64_t{1}));
  return context.emit("add", {last, context.ints({1})});
}

/// How many rows each segment has, as the element type of `data`, with dims of 1 behind.
Value* lengths(RuleContext& context, Value* data, Value* ids, Value* count) {
  Value* ones = context.emit("expand", {number_like(context, data, 1), context.emit("shape", {ids})});
  Value* made = segments(context, ones, ids, 1, count, Reduction{"add"});
  std::vector<std::int64_t> sizes(data->type.rank(), 1);
  sizes[0] = -1;
  return reshaped(context, made, std::move(sizes));
}

/// Ids ascend and their number is one more than the last; segments without rows are 0, of a product 1.
Value* sorted_segments(RuleContext& context, Value* data, Value* ids, Value* count, const std::string& kind) {
  check(data->type.ranked(), ErrorCode::unsupported, "the rank of input 0 must be known before running");
  if (kind == "add" || kind == "mul") return segments(context, data, ids, 1, count, Reduction{kind});
  Value* rows = lengths(context, data, ids, count);
  Value* none = context.emit("equal", {rows, number_like(context, rows, 0)});
  if (kind == "max" || kind == "min") {
    Value* found = segments(context, data, ids, 1, count, Reduction{kind});
    return context.emit("where", {none, number_like(context, data, 0), found});
  }
  Value* sum = segments(context, data, ids, 1, count, Reduction{"add"});
  Value* divisor = context.emit("where", {none, number_like(context, rows, 1), rows});
  if (kind == "sqrt") divisor = context.emit("sqrt", {divisor});
  return context.emit("div", {sum, divisor});
}

Rule segment(const char* kind) {
  return [kind](RuleContext& context) {
    Value* ids = integers(context, 1);
    Value* count = count_of(context, ids);
    context.set_output(0, sorted_segments(context, context.required(0), ids, count, kind));
  };
}

/// Of rows chosen by indices.
Rule sparse_segment(const char* kind) {
  return [kind](RuleContext& context) {
    Value* rows =
        context.emit("gather", {context.required(0), integers(context, 1)}, with("axis", std::int64_t{0}));
    Value* ids = integers(context, 2);
    Value* count =
        context.inputs() > 3 ? reshaped(context, integers(context, 3), {1}) : count_of(context, ids);
    context.set_output(0, sorted_segments(context, rows, ids, count, kind));
  };
}

constexpr const char* open_weights =
    "whether there are weights must be known before running; make them a constant or give their size";

/// How often each number below `size` occurs, or the sum of its weights; larger numbers are left out.
void bincount(RuleContext& context) {
  Value *numbers = integers(context, 0), *weights = context.required(2);
  const bool flat = context.node.op == "Bincount"; // the newer form counts each row of a matrix
  if (flat) numbers = reshaped(context, numbers, {-1});
  Value* size = reshaped(context, integers(context, 1), {1});
  const bool binary = context.integer("binary_output", 0) != 0;
  const auto weighted = known_size(weights, 0);
  check(weighted.has_value(), ErrorCode::unsupported, "{}", open_weights);
  Tensor values = Tensor::allocate(weights->type.dtype(), {2});
  copy_tensor(Tensor::from<double>(std::vector<double>{0, 1}, {2}), values);
  Value* hot = context.emit("one_hot", {numbers, size, context.tensor(std::move(values))},
                            with("axis", std::int64_t{-1}));
  if (*weighted != 0 && !binary)
    hot = context.emit(
        "mul", {hot, flat ? reshaped(context, weights, {-1, 1}) : unsqueezed(context, weights, {-1})});
  if (!flat && rank_of(context, 0) == 0) return context.set_output(0, hot);
  context.set_output(0, context.emit(binary ? "reduce_max" : "reduce_sum", {hot, context.ints({-2})},
                                     with("keepdims", std::int64_t{0})));
}

} // namespace

void add_segment_rules(Rules& rules) {
  rules["UnsortedSegmentSum"] = unsorted_segments("add");
  rules["UnsortedSegmentProd"] = unsorted_segments("mul");
  rules["UnsortedSegmentMax"] = unsorted_segments("max");
  rules["UnsortedSegmentMin"] = unsorted_segments("min");
  rules["SegmentSum"] = segment("add");
  rules["SegmentProd"] = segment("mul");
  rules["SegmentMax"] = segment("max");
  rules["SegmentMin"] = segment("min");
  rules["SegmentMean"] = segment("mean");
  for (const char* version : {"", "WithNumSegments"}) {
    const std::string end = version;
    rules["SparseSegmentSum" + end] = sparse_segment("add");
    rules["SparseSegmentMean" + end] = sparse_segment("mean");
    rules["SparseSegmentSqrtN" + end] = sparse_segment("sqrt");
  }
  rules["Bincount"] = rules["DenseBincount"] = {bincount, {open_weights}};
}

} // namespace lanner::tensorflow
