#include "ops/arguments.h"

#include "base/check.h"
#include "ops/visit.h"

namespace lanner::ops {

AttributeSpec integer_attribute(std::string name, std::int64_t fallback) {
  return {std::move(name), AttributeKind::integer, false, Attribute(fallback)};
}
AttributeSpec real_attribute(std::string name, double fallback) {
  return {std::move(name), AttributeKind::real, false, Attribute(fallback)};
}
AttributeSpec string_attribute(std::string name, std::string fallback) {
  return {std::move(name), AttributeKind::string, false, Attribute(std::move(fallback))};
}
AttributeSpec required_attribute(std::string name, AttributeKind kind) {
  return {std::move(name), kind, true, {}};
}
AttributeSpec optional_attribute(std::string name, AttributeKind kind) {
  return {std::move(name), kind, false, {}};
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

void require_shape(const Tensor& output, const Shape& expected, std::string_view what) {
  check(output.shape() == expected, ErrorCode::invalid_argument,
        "{}: the output is declared as {}, but has shape {}", what, output.shape().to_string(),
        expected.to_string());
}

void infer_like(InferContext& context, std::size_t from, std::size_t to) {
  context.set_output(to, context.input(from));
}

} // namespace lanner::ops
