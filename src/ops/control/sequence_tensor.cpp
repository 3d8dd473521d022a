// Conversions between tensors and sequences of their parts: split_to_sequence, concat_from_sequence.

#include <algorithm>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/counted_vector.h"
#include "ops/control/control_flow.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"
#include "tensor/strings.h"

namespace lanner::ops {

static void infer_split_to_sequence(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, Type::sequence(input));
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), input.rank());
  Dims dims = input.dims();
  if (!context.has(1)) {
    dims[axis] = Dim(1);
    if (!context.attributes().flag("keepdims", true))
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    return context.set_output(0, Type::sequence(input.with_dims(std::move(dims))));
  }
  const auto sizes = known_elements(context, 1);
  for (const Dim& size : sizes.value_or(Dims{})) {
    const bool chunk = context.input(1).ranked() && context.input(1).rank() == 0;
    check(!size.is_constant() || size.value() >= (chunk ? 1 : 0), ErrorCode::invalid_argument,
          "split_to_sequence: parts of size {}", size.to_string());
  }
  const bool equal = sizes && !sizes->empty() &&
                     std::ranges::all_of(*sizes, [&](const Dim& size) { return size == sizes->front(); }) &&
                     (sizes->size() > 1 || mod(dims[axis], sizes->front()) == Dim(0));
  dims[axis] = equal ? sizes->front() : context.fresh("split", dims[axis]);
  context.set_output(0, Type::sequence(input.with_dims(std::move(dims))));
}

/// Sizes of the parts, given by a scalar or a list.
static CountedVector<std::int64_t> part_sizes(const KernelContext& context, std::int64_t size) {
  if (!context.has(1)) return CountedVector<std::int64_t>(static_cast<std::size_t>(size), 1);
  const std::vector<std::int64_t> given = read_integers(context.input(1), "split");
  if (context.input(1).rank() == 0) {
    const std::int64_t chunk = given[0];
    check(chunk > 0, ErrorCode::invalid_argument, "split_to_sequence: parts of size {}", chunk);
    const std::int64_t rest = size % chunk;
    CountedVector<std::int64_t> equal(static_cast<std::size_t>(size / chunk + (rest > 0 ? 1 : 0)), chunk);
    if (rest > 0) equal.back() = rest;
    return equal;
  }
  const CountedVector<std::int64_t> sizes(given.begin(), given.end());
  std::int64_t left = size;
  for (const std::int64_t part : sizes) {
    check(part >= 0 && part <= left, ErrorCode::invalid_argument,
          "split_to_sequence: a part of {} with {} left", part, left);
    left -= part;
  }
  check(left == 0, ErrorCode::invalid_argument, "split_to_sequence: the parts leave {} of {} elements unused",
        left, size);
  return sizes;
}

static void run_split_to_sequence(KernelContext& context) {
  const Tensor& input = context.input(0);
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), input.rank());
  const bool drops_axis = !context.has(1) && !context.attributes().flag("keepdims", true);
  Walk source = dense_walk(input.shape());
  std::vector<Item> items;
  for (const std::int64_t size : part_sizes(context, input.shape()[axis])) {
    check_deadline();
    Shape shape = input.shape();
    shape[axis] = size;
    Tensor part = Tensor::allocate(input.dtype(), shape);
    copy_strided(shape, input, source, part, dense_walk(shape));
    own_characters(part);
    source.offset += size * source.strides[axis];
    if (drops_axis) {
      std::vector<std::int64_t> dims = shape.dims();
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      part = part.reshaped(Shape(std::move(dims)));
    }
    items.push_back(Item(std::move(part)));
  }
  context.set_item(0, sequence_of(std::move(items)));
}

static void infer_concat_from_sequence(InferContext& context) {
  const Type& type = context.input(0);
  check(type.kind() == Type::Kind::sequence, ErrorCode::invalid_argument,
        "concat_from_sequence: input is {}, expected a sequence", type.to_string());
  const Type& element = type.element();
  if (!element.ranked()) return context.set_output(0, element);
  const bool new_axis = context.attributes().flag("new_axis");
  const std::size_t rank = element.rank() + (new_axis ? 1 : 0);
  const std::size_t axis = resolve_axis(context.attributes().get<std::int64_t>("axis"), rank);
  Dims dims = element.dims();
  const Dim size = context.fresh("concat", Dim(INT64_MAX));
  if (new_axis)
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), size);
  else
    dims[axis] = size;
  context.set_output(0, element.with_dims(std::move(dims)));
}

static Shape joined_shape(const std::vector<Item>& items, std::size_t axis) {
  Shape shape = items.front().tensor.shape();
  shape[axis] = 0;
  for (const Item& item : items) {
    const Shape& part = item.tensor.shape();
    bool fits = part.rank() == shape.rank() && item.tensor.dtype() == items.front().tensor.dtype();
    for (std::size_t d = 0; fits && d < shape.rank(); ++d) fits = d == axis || part[d] == shape[d];
    check(fits, ErrorCode::invalid_argument,
          "concat_from_sequence: elements of shapes {} and {} cannot be joined", part.to_string(),
          items.front().tensor.shape().to_string());
    shape[axis] += part[axis];
  }
  return shape;
}

static void run_concat_from_sequence(KernelContext& context) {
  const Item& sequence = context.item(0);
  check(sequence.is_sequence() && !sequence.items->empty(), ErrorCode::invalid_argument,
        "concat_from_sequence: the sequence is empty");
  const std::int64_t asked = context.attributes().get<std::int64_t>("axis");
  if (context.attributes().flag("new_axis")) {
    Stack stack(asked);
    for (const Item& item : *sequence.items) stack.push(item.tensor);
    return context.set_item(0, stack.joined(context.node().output(0)->type));
  }
  const Tensor& first = sequence.items->front().tensor;
  const std::size_t axis = resolve_axis(asked, first.rank());
  Tensor& out = context.allocate(0, first.dtype(), joined_shape(*sequence.items, axis));
  Walk target = dense_walk(out.shape());
  for (const Item& item : *sequence.items) {
    copy_strided(item.tensor.shape(), item.tensor, dense_walk(item.tensor.shape()), out, target);
    target.offset += item.tensor.shape()[axis] * target.strides[axis];
  }
}

std::vector<OpDef> sequence_tensor_ops() {
  OpDef split;
  split.name = "split_to_sequence";
  split.min_inputs = 1;
  split.max_inputs = 2;
  split.operands = {{"x", dtypes::any}, {"split", dtypes::counts}};
  split.attributes = {integer_attribute("axis", 0, axis_range()), flag_attribute("keepdims", true)};
  split.infer = infer_split_to_sequence;
  split.reference = run_split_to_sequence;
  OpDef concat;
  concat.name = "concat_from_sequence";
  concat.min_inputs = concat.max_inputs = 1;
  concat.operands = {sequence_operand()};
  concat.attributes = {required_attribute("axis", AttributeKind::integer, axis_range()),
                       flag_attribute("new_axis", false)};
  concat.infer = infer_concat_from_sequence;
  concat.reference = run_concat_from_sequence;
  split.traits = concat.traits = of_pattern(Pattern::container);
  return {split, concat};
}

} // namespace lanner::ops
