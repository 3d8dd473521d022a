// Tensors filled to a given shape: constant_of_shape, eye_like.

#include <algorithm>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static Tensor fill_value(const AttributeMap& attributes) {
  if (!attributes.has("value")) return Tensor::scalar(0.0f);
  const Tensor& value = attributes.get<Tensor>("value");
  check(value.elements() == 1, ErrorCode::invalid_argument,
        "constant_of_shape: value of shape {}, expected one element", value.shape().to_string());
  return value;
}

static void infer_constant_of_shape(InferContext& context) {
  const Tensor value = fill_value(context.attributes());
  require_rank(context, 0, 1);
  auto dims = known_elements(context, 0);
  if (!dims) {
    const auto rank = static_length(context, 0);
    if (!rank) return context.set_output(0, Type::unranked(value.dtype()));
    check_rank(*rank, "constant_of_shape");
    dims.emplace();
    for (std::size_t i = 0; i < *rank; ++i) dims->push_back(context.fresh("fill", Dim(INT64_MAX)));
  }
  for (const Dim& dim : *dims)
    check(!dim.is_constant() || dim.value() >= 0, ErrorCode::invalid_argument,
          "constant_of_shape: a shape of {}", to_string(*dims));
  const Type type(value.dtype(), *dims);
  context.set_output(0, type);
  const bool counts = is_integer(value.dtype()) || value.dtype() == DType::boolean;
  if (!counts || !type.is_static() || type.shape().elements() > max_known_elements) return;
  const Dim element(read_integer(value, "value"));
  set_known_elements(context, 0, type, Dims(static_cast<std::size_t>(type.shape().elements()), element));
}

static void infer_eye_like(InferContext& context) {
  require_rank(context, 0, 2);
  const Type& input = context.input(0);
  context.set_output(0, input.with_dtype(context.attributes().get<DType>("dtype", input.dtype())));
}

static void run_eye_like(KernelContext& context) {
  Tensor& out = context.output(0);
  const std::int64_t rows = out.shape()[0], columns = out.shape()[1];
  Tensor one = Tensor::allocate(out.dtype(), Shape{});
  copy_tensor(Tensor::scalar(1.0f), one);
  clear_elements(out);
  // A diagonal outside the matrix, at any distance, has no elements.
  const std::int64_t k = std::clamp(context.attributes().integer("k", 0), -rows, columns);
  const std::int64_t row = std::max<std::int64_t>(0, -k), column = std::max<std::int64_t>(0, k);
  const std::int64_t count = std::min(rows - row, columns - column);
  RunCopy(out.dtype())(out.data(), row * columns + column, columns + 1, one.data(), 0, 0, count);
}

std::vector<OpDef> fill_ops() {
  OpDef constant;
  constant.name = "constant_of_shape";
  constant.min_inputs = constant.max_inputs = 1;
  constant.operands = {list_of_counts("shape")};
  constant.attributes = {optional_attribute("value", AttributeKind::tensor, any_value())};
  constant.infer = infer_constant_of_shape;
  constant.reference = [](KernelContext& context) {
    fill_elements(context.output(0), fill_value(context.attributes()), context.threads());
  };
  OpDef eye;
  eye.name = "eye_like";
  eye.min_inputs = eye.max_inputs = 1;
  eye.operands = {{"like", dtypes::any, 0, "_ _"}};
  eye.attributes = {optional_attribute("dtype", AttributeKind::dtype, element_types(dtypes::any)),
                    integer_attribute("k", 0, any_integer())};
  eye.infer = infer_eye_like;
  eye.reference = run_eye_like;
  constant.traits = movement();
  eye.traits = of_pattern(Pattern::generation);
  return {constant, eye};
}

} // namespace lanner::ops
