#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// Sizes of the parts, or nothing where they are data-dependent.
static std::optional<Dims> part_sizes(InferContext& context, const Dim& size) {
  if (context.has(1)) {
    auto sizes = known_elements(context, 1);
    if (!sizes) return std::nullopt;
    check(sizes->size() == context.outputs(), ErrorCode::invalid_argument, "split: {} sizes for {} outputs",
          sizes->size(), context.outputs());
    Dim total;
    for (const Dim& part : *sizes) {
      check(!part.is_constant() || part.value() >= 0, ErrorCode::invalid_argument, "split: a size of {}",
            part.to_string());
      total = total + part;
    }
    require_equal(total, size, "split: sum of the sizes");
    return sizes;
  }
  const auto count = static_cast<std::int64_t>(context.outputs());
  const std::int64_t asked = context.attributes().integer("num_outputs", count);
  check(asked == count, ErrorCode::invalid_argument, "split: num_outputs is {}, but the node has {} outputs",
        asked, count);
  if (mod(size, Dim(count)) == Dim(0)) return Dims(context.outputs(), floor_div(size, Dim(count)));
  const Dim chunk = ceil_div(size, Dim(count));
  Dims sizes(context.outputs(), chunk);
  // Only for a constant size is it known whether a part before the last is shorter too.
  for (std::int64_t i = 0; size.is_constant() && i < count; ++i)
    sizes[static_cast<std::size_t>(i)] = max(Dim(0), min(chunk, size - Dim(i) * chunk));
  if (!size.is_constant()) sizes.back() = size - Dim(count - 1) * chunk;
  return sizes;
}

static void infer_split(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) {
    for (std::size_t i = 0; i < context.outputs(); ++i) context.set_output(i, input);
    return;
  }
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), input.rank());
  const auto sizes = part_sizes(context, input.dims()[axis]);
  const auto elements = input.rank() == 1 ? known_elements(context, 0) : std::nullopt;
  bool located = elements.has_value(); // Where a part begins is unknown behind one of unknown size.
  std::size_t begin = 0;
  for (std::size_t i = 0; i < context.outputs(); ++i) {
    Dims dims = input.dims();
    dims[axis] = sizes ? (*sizes)[i] : context.fresh("split", input.dims()[axis]);
    const Type type = input.with_dims(dims);
    context.set_output(i, type);
    located = located && type.is_static();
    if (!located) continue;
    const auto count = static_cast<std::size_t>(type.shape().elements());
    located = count <= elements->size() - begin;
    if (!located) continue;
    const auto first = elements->begin() + static_cast<std::ptrdiff_t>(begin);
    set_known_elements(context, i, type, Dims(first, first + static_cast<std::ptrdiff_t>(count)));
    begin += count;
  }
}

static void run_split(KernelContext& context) {
  const Tensor& input = context.input(0);
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), input.rank());
  Walk source = dense_walk(input.shape());
  std::int64_t left = input.shape()[axis];
  for (std::size_t i = 0; i < context.outputs(); ++i) {
    Tensor& out = context.output(i);
    const std::int64_t size = out.shape()[axis];
    check(size <= left, ErrorCode::invalid_argument, "split: part {} has size {}, only {} left", i, size,
          left);
    copy_strided(out.shape(), input, source, out, dense_walk(out.shape()));
    source.offset += size * source.strides[axis];
    left -= size;
  }
}

std::vector<OpDef> split_ops() {
  OpDef op;
  op.name = "split";
  op.min_inputs = 1;
  op.max_inputs = 2;
  op.max_outputs = OpDef::any;
  op.operands = {{"x", dtypes::any}, list_of_counts("sizes")};
  op.attributes = {integer_attribute("axis", 0, axis_range()),
                   optional_attribute("num_outputs", AttributeKind::integer, between(1, 1 << 20))};
  op.infer = infer_split;
  op.reference = run_split;
  op.traits = movement();
  return {op};
}

} // namespace lanner::ops
