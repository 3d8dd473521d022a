// shape and size: they read only a tensor's type.

#include <algorithm>

#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

struct DimRange {
  std::size_t begin = 0, end = 0;
};

static DimRange asked_dims(const AttributeMap& attributes, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  const auto place = [count](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
  };
  const std::int64_t begin = place(attributes.integer("start", 0));
  const std::int64_t end = place(attributes.integer("end", count));
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(std::max(begin, end))};
}

static void infer_shape(InferContext& context) {
  const Type& type = context.input(0);
  if (!type.ranked()) {
    const Dim length = context.fresh("rank", Dim(Limits{}.rank));
    return context.set_output(0, Type(DType::i64, Dims{length}));
  }
  const DimRange asked = asked_dims(context.attributes(), type.rank());
  Dims dims(type.dims().begin() + static_cast<std::ptrdiff_t>(asked.begin),
            type.dims().begin() + static_cast<std::ptrdiff_t>(asked.end));
  const Type result(DType::i64, Dims{Dim(static_cast<std::int64_t>(dims.size()))});
  context.set_output(0, result);
  set_known_elements(context, 0, result, std::move(dims));
}

static void run_shape(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  const DimRange asked = asked_dims(context.attributes(), shape.rank());
  const auto out = context.output(0).as<std::int64_t>();
  for (std::size_t i = asked.begin; i < asked.end; ++i) out[i - asked.begin] = shape[i];
}

static void infer_size(InferContext& context) {
  const Type result(DType::i64, Dims{});
  context.set_output(0, result);
  if (context.input(0).ranked()) set_known_elements(context, 0, result, {product(context.input(0).dims())});
}

std::vector<OpDef> shape_ops() {
  OpDef shape;
  shape.name = "shape";
  shape.min_inputs = shape.max_inputs = 1;
  shape.operands = {{"x", dtypes::any}};
  shape.attributes = {integer_attribute("start", 0, any_integer()),
                      optional_attribute("end", AttributeKind::integer, any_integer())};
  shape.infer = infer_shape;
  shape.reference = run_shape;

  OpDef size;
  size.name = "size";
  size.min_inputs = size.max_inputs = 1;
  size.operands = {{"x", dtypes::any}};
  size.infer = infer_size;
  size.reference = [](KernelContext& context) {
    context.output(0).as<std::int64_t>()[0] = context.input(0).elements();
  };
  shape.traits = size.traits = of_pattern(Pattern::generation);
  return {shape, size};
}

} // namespace lanner::ops
