#include <algorithm>

#include "base/check.h"
#include "ops/definition/known_axes.h"
#include "ops/definition/known_moves.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// The slice along one axis; nothing for data-dependent parts.
struct AxisSlice {
  std::optional<Dim> start, end;
  std::int64_t step = 1;
};

/// Start or end of a slice of an axis of `size`: negative ones count from the end, then the result is clamped
/// to [low, high]. Nothing when neither its sign nor its value is known.
static std::optional<Dim> held_place(const Dim& place, const Dim& size, const Dim& low, const Dim& high) {
  if (const auto value = place.constant()) {
    if (size.is_constant()) {
      const std::int64_t wrapped =
          *value < 0 ? (*value < -size.value() ? -1 : *value + size.value()) : *value;
      return Dim(std::min(high.value(), std::max(low.value(), wrapped)));
    }
    // Exporters write "to the end" as a value above any size.
    if (*value >= INT32_MAX) return high;
    if (*value <= INT32_MIN) return low;
    if (*value < 0 && size + place == high) return high;
    // Where an axis may be empty, its last index may come before its first.
    if (*value < 0)
      return low == Dim(0) && high != size ? min(max(low, size + place), high) : max(low, size + place);
    return *value == 0 && low == Dim(0) && high == size ? Dim(0) : min(place, high);
  }
  if (place == size || place == high) return high;
  if (surely_nonnegative(place)) return min(place, high);
  if (surely_nonnegative(Dim(-1) - place)) return max(low, size + place);
  return std::nullopt;
}

/// Number of steps that start within `length`; exact for every constant, however large the step.
static Dim step_count(const Dim& length, std::int64_t step) {
  if (step == 1 || length == Dim(0)) return length;
  if (length.is_constant()) return Dim((length.value() - 1) / step + 1);
  return ceil_div(length, Dim(step));
}

static std::optional<Dim> sliced_size(const AxisSlice& slice, const Dim& size) {
  if (!slice.start || !slice.end) return std::nullopt;
  const Dim zero(0), one(1);
  if (slice.step > 0) {
    const auto start = held_place(*slice.start, size, zero, size),
               end = held_place(*slice.end, size, zero, size);
    if (!start || !end) return std::nullopt;
    const bool ordered = *start == zero || *end == size;
    const Dim length = ordered ? *end - *start : max(*end - *start, zero);
    return step_count(length, slice.step);
  }
  const Dim last = size - one;
  const auto start = held_place(*slice.start, size, zero, last),
             end = held_place(*slice.end, size, Dim(-1), last);
  if (!start || !end) return std::nullopt;
  const Dim length = *start == last && *end == Dim(-1) ? size : max(*start - *end, zero);
  return step_count(length, -std::max(slice.step, -INT64_MAX)); // INT64_MIN cannot be negated.
}

/// The slice along each axis of the input; nothing when the axes are unknown.
static std::optional<std::vector<std::optional<AxisSlice>>> given_slices(const InferContext& context) {
  const std::size_t rank = context.input(0).rank();
  const auto starts = known_elements(context, 1), ends = known_elements(context, 2);
  auto axes = known_axes(context, 3, rank);
  const auto steps = known_integers(context, 4);
  const auto count = static_length(context, 1);
  if (!count || (context.has(3) && !axes)) return std::nullopt;
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < *count; ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  const auto fits = [&](const auto& list) { return !list || list->size() == *count; };
  check(fits(starts) && fits(ends) && fits(axes) && fits(steps), ErrorCode::invalid_argument,
        "slice: starts, ends, axes and steps differ in length; {} starts given", *count);
  std::vector<std::optional<AxisSlice>> result(rank);
  const std::vector<std::size_t> resolved = resolve_axes(*axes, rank);
  for (std::size_t i = 0; i < *count; ++i) {
    AxisSlice slice;
    if (starts) slice.start = (*starts)[i];
    if (ends) slice.end = (*ends)[i];
    if (steps)
      slice.step = (*steps)[i];
    else if (context.has(4))
      slice.start.reset();
    check(slice.step != 0, ErrorCode::invalid_argument, "slice: step 0 along axis {}", resolved[i]);
    result[resolved[i]] = slice;
  }
  return result;
}

static void infer_slice(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, input);
  const auto slices = given_slices(context);
  Dims dims = input.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (slices && !(*slices)[i]) continue;
    const auto size = slices ? sliced_size(*(*slices)[i], dims[i]) : std::nullopt;
    dims[i] = size ? *size : context.fresh("slice", dims[i]);
  }
  const Type type = input.with_dims(std::move(dims));
  context.set_output(0, type);
  set_known_moved(context, type);
}

static void run_slice(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  const std::vector<std::int64_t> starts = read_integers(context.input(1), "starts");
  const std::vector<std::int64_t> ends = read_integers(context.input(2), "ends");
  std::vector<std::int64_t> axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (context.has(3)) axes = read_integers(context.input(3), "axes");
  if (context.has(4)) steps = read_integers(context.input(4), "steps");
  check(axes.size() == starts.size() && steps.size() == starts.size() && ends.size() == starts.size(),
        ErrorCode::invalid_argument, "slice: starts, ends, axes and steps differ in length; {} starts given",
        starts.size());
  Walk source = dense_walk(input.shape());
  Shape shape = input.shape();
  const std::vector<std::size_t> resolved = resolve_axes(axes, input.rank());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t size = input.shape()[resolved[i]];
    const auto start = held_place(Dim(starts[i]), Dim(size), Dim(0), Dim(steps[i] > 0 ? size : size - 1));
    shape[resolved[i]] = sliced_size({Dim(starts[i]), Dim(ends[i]), steps[i]}, Dim(size))->value();
    source.offset += start->value() * source.strides[resolved[i]];
    // A step beyond the size takes one element, like a step of the size, and could overflow.
    source.strides[resolved[i]] *= std::clamp(steps[i], -size - 1, size + 1);
  }
  require_shape(out, shape, "slice");
  copy_strided(shape, input, source, out, dense_walk(shape));
}

std::vector<OpDef> slice_ops() {
  OpDef op;
  op.name = "slice";
  op.min_inputs = 3;
  op.max_inputs = 5;
  op.operands = {{"x", dtypes::any},
                 list_of_counts("starts"),
                 list_of_counts("ends"),
                 list_of_counts("axes"),
                 list_of_counts("steps")};
  op.infer = infer_slice;
  op.reference = run_slice;
  op.traits = movement();
  op.traits.split = splits_beside_axes_of(3);
  return {op};
}

} // namespace lanner::ops
