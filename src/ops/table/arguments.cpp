#include "ops/table/arguments.h"

#include "base/check.h"
#include "ops/definition/visit.h"

namespace lanner::ops {

AttributeSpec integer_attribute(std::string name, std::int64_t fallback, AttributeRule rule) {
  return {std::move(name), AttributeKind::integer, false, Attribute(fallback), std::move(rule)};
}
AttributeSpec flag_attribute(std::string name, bool fallback) {
  return integer_attribute(std::move(name), fallback ? 1 : 0, yes_or_no());
}
AttributeSpec real_attribute(std::string name, double fallback, AttributeRule rule) {
  return {std::move(name), AttributeKind::real, false, Attribute(fallback), std::move(rule)};
}
AttributeSpec string_attribute(std::string name, std::string fallback, AttributeRule rule) {
  return {std::move(name), AttributeKind::string, false, Attribute(std::move(fallback)), std::move(rule)};
}
AttributeSpec dtype_attribute(std::string name, DType fallback, DTypeSet types) {
  return {std::move(name), AttributeKind::dtype, false, Attribute(fallback), element_types(types)};
}
AttributeSpec required_attribute(std::string name, AttributeKind kind, AttributeRule rule) {
  return {std::move(name), kind, true, {}, std::move(rule)};
}
AttributeSpec optional_attribute(std::string name, AttributeKind kind, AttributeRule rule) {
  return {std::move(name), kind, false, {}, std::move(rule)};
}

std::vector<std::size_t> axes_attribute(const AttributeMap& attributes, std::size_t rank) {
  if (attributes.has("axes")) return resolve_axes(attributes.integers("axes"), rank);
  std::vector<std::size_t> all(rank);
  for (std::size_t i = 0; i < rank; ++i) all[i] = i;
  return all;
}

AxisView view_axis(const Shape& shape, std::size_t axis) {
  AxisView view;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i < axis) view.outer *= shape[i];
    if (i == axis) view.size = shape[i];
    if (i > axis) view.inner *= shape[i];
  }
  return view;
}

double read_real(const Tensor& tensor, std::string_view what) {
  check(tensor.elements() == 1, ErrorCode::invalid_argument, "{} has shape {}, expected one value", what,
        tensor.shape().to_string());
  return to_dtype(tensor, DType::f64).as<double>()[0];
}

std::vector<double> doubles_of(const Tensor& tensor) {
  const Tensor wide = to_dtype(tensor, DType::f64);
  const auto values = wide.as<double>();
  return {values.begin(), values.end()};
}

void require_rank(const InferContext& context, std::size_t i, std::size_t rank) {
  const Type& type = context.input(i);
  check(!type.ranked() || type.rank() == rank, ErrorCode::invalid_argument,
        "input {} is {}, expected rank {}", i, type.to_string(), rank);
}

void require_equal(const Dim& found, const Dim& expected, std::string_view what) {
  if (!found.is_constant() || !expected.is_constant()) return;
  check(found.value() == expected.value(), ErrorCode::invalid_argument, "{} is {}, expected {}", what,
        found.value(), expected.value());
}

void require_spreads(const InferContext& context, std::size_t i, const Dims& wide, std::string_view what) {
  const Type& type = context.input(i);
  if (!type.ranked()) return;
  const std::size_t rank = type.rank();
  bool fits = rank <= wide.size();
  for (std::size_t d = 0; fits && d < rank; ++d) {
    const Dim &size = type.dims()[d], &whole = wide[wide.size() - rank + d];
    fits = !size.is_constant() || size.value() == 1 || !whole.is_constant() || size == whole;
  }
  check(fits, ErrorCode::invalid_argument, "{} {} does not broadcast to {}", what, type.to_string(),
        to_string(wide));
}

void require_shape(const Tensor& output, const Shape& expected, std::string_view what) {
  check(output.shape() == expected, ErrorCode::invalid_argument,
        "{}: the output is declared as {}, but has shape {}", what, output.shape().to_string(),
        expected.to_string());
}

void infer_like(InferContext& context, std::size_t from, std::size_t to) {
  context.set_output(to, context.input(from));
}

} // namespace lanner::ops
