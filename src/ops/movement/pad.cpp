#include "base/check.h"
#include "base/limits/counted_vector.h"
#include "ops/definition/bounds.h"
#include "ops/definition/known_axes.h"
#include "ops/definition/rows.h"
#include "ops/definition/strided.h"
#include "ops/resampling/axis_taps.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };

static PadMode pad_mode(const AttributeMap& attributes) {
  const std::string mode = attributes.string("mode", "constant");
  if (mode == "constant") return PadMode::constant;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "edge") return PadMode::edge;
  if (mode == "wrap") return PadMode::wrap;
  fail(ErrorCode::invalid_argument,
       "pad: mode is \"{}\", expected \"constant\", \"reflect\", \"edge\" or \"wrap\"", mode);
}

static std::vector<std::size_t> padded_axes(const std::optional<std::vector<std::int64_t>>& axes,
                                            std::size_t rank) {
  if (axes) return resolve_axes(*axes, rank);
  std::vector<std::size_t> all(rank);
  for (std::size_t i = 0; i < rank; ++i) all[i] = i;
  return all;
}

static void infer_pad(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, input);
  pad_mode(context.attributes());
  const auto pads = known_elements(context, 1);
  const auto axes_input = known_axes(context, 3, input.rank());
  Dims dims = input.dims();
  if (!pads || (context.has(3) && !axes_input)) {
    for (Dim& dim : dims) dim = context.fresh("pad", Dim(INT64_MAX));
    return context.set_output(0, input.with_dims(std::move(dims)));
  }
  const std::vector<std::size_t> axes = padded_axes(axes_input, input.rank());
  check(pads->size() == 2 * axes.size(), ErrorCode::invalid_argument,
        "pad: {} pads for {} axes, expected two each", pads->size(), axes.size());
  constexpr std::int64_t most = std::int64_t{1} << 48; // Far above any axis; sums of two stay within 64 bits.
  for (const Dim& pad : *pads)
    if (const auto known = pad.constant()) require_within("pads", *known, -most, most);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = dims[axes[i]];
    dim = dim + (*pads)[i] + (*pads)[axes.size() + i];
    check(!dim.is_constant() || dim.value() >= 0, ErrorCode::invalid_argument,
          "pad: axis {} of {} would have size {}", axes[i], input.to_string(), dim.to_string());
  }
  context.set_output(0, input.with_dims(std::move(dims)));
}

/// The input index for index `at` of the padded axis, relative to the input's first element, on an axis of
/// `size`; -1 for the constant.
static std::int64_t source_index(std::int64_t at, std::int64_t size, PadMode mode) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
  case PadMode::constant:
    return -1;
  case PadMode::edge:
    return at < 0 ? 0 : size - 1;
  case PadMode::wrap:
    return ((at % size) + size) % size;
  case PadMode::reflect:
    break;
  }
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1);
  const std::int64_t folded = ((at % period) + period) % period;
  return folded < size ? folded : period - folded;
}

using Indices = CountedVector<std::int64_t>;

/// The input index for each index of an output axis. A negative pad removes elements before the remaining
/// ones are repeated.
static Indices axis_sources(std::int64_t size, std::int64_t begin, std::int64_t out, PadMode mode) {
  const std::int64_t end = out - size - begin,
                     cut = mode == PadMode::constant ? 0 : std::max<std::int64_t>(-begin, 0);
  const std::int64_t remaining =
      mode == PadMode::constant ? size : size - cut - std::max<std::int64_t>(-end, 0);
  check(mode == PadMode::constant || remaining > 0 || out == 0, ErrorCode::invalid_argument,
        "pad: an axis of size {}, padded by {} and {}, has no elements left to repeat", size, begin, end);
  Indices indices;
  indices.reserve(static_cast<std::size_t>(out));
  for (std::int64_t i = 0; i < out; ++i) {
    if (i % rows_between_checks == 0) check_deadline();
    const std::int64_t index = source_index(i - begin - cut, remaining, mode);
    indices.push_back(index < 0 ? index : index + cut);
  }
  return indices;
}

/// For each axis, the input index of each output index.
static std::vector<Indices> source_indices(const TapsQuestion& question) {
  const Shape &input = question.input, &out = question.output;
  const PadMode mode = pad_mode(question.attributes);
  const std::vector<std::int64_t> pads = read_integers(*question.value(1), "pads");
  std::optional<std::vector<std::int64_t>> axes_input;
  if (const Tensor* given = question.value(3)) axes_input = read_integers(*given, "axes");
  const std::vector<std::size_t> axes = padded_axes(axes_input, input.rank());
  std::vector<std::int64_t> begins(input.rank(), 0);
  check(pads.size() == 2 * axes.size(), ErrorCode::invalid_argument,
        "pad: {} pads for {} axes, expected two each", pads.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) begins[axes[i]] = pads[i];
  std::vector<Indices> indices(input.rank());
  for (std::size_t d = 0; d < input.rank(); ++d) indices[d] = axis_sources(input[d], begins[d], out[d], mode);
  return indices;
}

std::optional<std::vector<ResampledAxis>> pad_taps(const TapsQuestion& question) {
  if (pad_mode(question.attributes) == PadMode::constant) return std::nullopt;
  constexpr std::int64_t longest = 1 << 24; // a table of more is left to the definition
  for (const std::int64_t size : question.output)
    if (size > longest) return std::nullopt;
  std::vector<ResampledAxis> list;
  const auto indices = source_indices(question);
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    ResampledAxis made{axis, {0}, {}, {}};
    bool same = question.input[axis] == question.output[axis];
    for (const std::int64_t index : indices[axis]) {
      same = same && index == static_cast<std::int64_t>(made.indices.size());
      made.indices.push_back(static_cast<std::int32_t>(index));
      made.begins.push_back(static_cast<std::int32_t>(made.indices.size()));
    }
    made.weights.assign(made.indices.size(), 1);
    if (!same) list.push_back(std::move(made));
  }
  return list;
}

namespace {

/// Fills the output row by row: runs of consecutive indices are copied at once.
class PadKernel {
public:
  PadKernel(const Tensor& input, Tensor& out, const Tensor& value, std::vector<Indices> indices)
      : input_(input), out_(out), value_(value), indices_(std::move(indices)),
        strides_(dense_strides(input.shape())), copy_run_(input.dtype()) {}

  void run() {
    if (out_.rank() == 0) return copy_elements(input_, out_);
    fill(0, 0, false);
  }

private:
  void fill(std::size_t axis, std::int64_t from, bool outside) {
    const Indices& indices = indices_[axis];
    if (axis + 1 == indices_.size()) return fill_row(indices, from, outside);
    for (const std::int64_t index : indices)
      fill(axis + 1, from + std::max<std::int64_t>(index, 0) * strides_[axis], outside || index < 0);
  }

  void fill_row(const Indices& indices, std::int64_t from, bool outside) {
    const auto count = static_cast<std::int64_t>(indices.size());
    for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
      const auto at = [&](std::int64_t i) { return indices[static_cast<std::size_t>(i)]; };
      const bool constant = outside || at(begin) < 0;
      for (end = begin + 1; end < count; ++end)
        if (constant ? !outside && at(end) >= 0 : at(end) != at(end - 1) + 1) break;
      if (constant)
        copy_run_(out_.data(), at_ + begin, 1, value_.data(), 0, 0, end - begin);
      else
        copy_run_(out_.data(), at_ + begin, input_.data(), from + at(begin), end - begin);
    }
    at_ += count;
  }

  const Tensor& input_;
  Tensor& out_;
  const Tensor& value_;
  std::vector<Indices> indices_;
  std::vector<std::int64_t> strides_;
  RunCopy copy_run_;
  std::int64_t at_ = 0;
};

} // namespace

static void run_pad(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  if (out.elements() == 0) return; // even if one of its axes is long
  Tensor value = Tensor::allocate(input.dtype(), Shape{});
  clear_elements(value);
  if (context.has(2)) {
    check(context.input(2).dtype() == input.dtype() && context.input(2).elements() == 1,
          ErrorCode::invalid_argument, "pad: constant_value of type {} and shape {}, expected one {}",
          to_string(context.input(2).dtype()), context.input(2).shape().to_string(),
          to_string(input.dtype()));
    value = context.input(2);
  }
  PadKernel(input, out, value,
            source_indices({context.attributes(), input.shape(), out.shape(),
                            [&](std::size_t i) { return context.has(i) ? &context.input(i) : nullptr; }}))
      .run();
}

std::vector<OpDef> pad_ops() {
  OpDef op;
  op.name = "pad";
  op.min_inputs = 2;
  op.max_inputs = 4;
  op.operands = {{"x", dtypes::any, 'T'},
                 list_of_counts("pads"),
                 one_element("constant_value", dtypes::any, 'T'),
                 {"axes", dtypes::counts}};
  op.attributes = {string_attribute("mode", "constant", one_of({"constant", "reflect", "edge", "wrap"}))};
  op.infer = infer_pad;
  op.reference = run_pad;
  op.traits = movement();
  return {op};
}

} // namespace lanner::ops
