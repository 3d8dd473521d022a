#include "ops/arguments.h"

#include <algorithm>

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
AttributeSpec required_attribute(std::string name, AttributeKind kind) { return {std::move(name), kind, true, {}}; }
AttributeSpec optional_attribute(std::string name, AttributeKind kind) { return {std::move(name), kind, false, {}}; }

std::size_t resolve_axis(std::int64_t axis, std::size_t rank) {
  const auto bound = static_cast<std::int64_t>(rank);
  check(axis >= -bound && axis < bound, ErrorCode::invalid_argument, "axis {} is out of range for rank {}", axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + bound : axis);
}

std::vector<std::size_t> resolve_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> resolved;
  for (const std::int64_t axis : axes) {
    const std::size_t found = resolve_axis(axis, rank);
    check(std::find(resolved.begin(), resolved.end(), found) == resolved.end(), ErrorCode::invalid_argument,
          "axis {} is given twice", axis);
    resolved.push_back(found);
  }
  return resolved;
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

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  const Tensor wide = to_dtype(tensor, DType::i64);
  const auto values = wide.as<std::int64_t>();
  return {values.begin(), values.end()};
}

std::int64_t integer_of(const Tensor& tensor) {
  const std::vector<std::int64_t> values = integers_of(tensor);
  check(values.size() == 1, ErrorCode::invalid_argument, "one value expected, got shape {}",
        tensor.shape().to_string());
  return values[0];
}

double real_of(const Tensor& tensor) {
  check(tensor.elements() == 1, ErrorCode::invalid_argument, "one value expected, got shape {}",
        tensor.shape().to_string());
  return to_dtype(tensor, DType::f64).as<double>()[0];
}

std::optional<Dims> known_dims(const InferContext& context, std::size_t i) {
  if (i >= context.inputs() || !context.has(i)) return std::nullopt;
  const Known& known = context.known(i);
  if (known.elements) return known.elements;
  if (!known.tensor) return std::nullopt;
  check(is_integer(known.tensor->dtype()), ErrorCode::invalid_argument, "input {} has type {}, expected integers", i,
        to_string(known.tensor->dtype()));
  const std::vector<std::int64_t> values = integers_of(*known.tensor);
  return Dims(values.begin(), values.end());
}

std::optional<std::vector<std::int64_t>> known_integers(const InferContext& context, std::size_t i) {
  const std::optional<Dims> dims = known_dims(context, i);
  if (!dims) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Dim& dim : *dims) {
    if (!dim.is_constant()) return std::nullopt;
    values.push_back(dim.value());
  }
  return values;
}

void require_rank(const InferContext& context, std::size_t i, std::size_t rank) {
  const Type& type = context.input(i);
  check(!type.ranked() || type.rank() == rank, ErrorCode::invalid_argument, "input {} is {}, expected rank {}", i,
        type.to_string(), rank);
}

void require_equal(const Dim& found, const Dim& expected, std::string_view what) {
  if (!found.is_constant() || !expected.is_constant()) return;
  check(found.value() == expected.value(), ErrorCode::invalid_argument, "{} is {}, expected {}", what, found.value(),
        expected.value());
}

static Dim broadcast_dim(const Dim& a, const Dim& b) {
  if (a == b || b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  check(!a.is_constant() || !b.is_constant(), ErrorCode::invalid_argument, "sizes {} and {} do not broadcast",
        a.to_string(), b.to_string());
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return max(a, b);
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), Dim(1));
  for (std::size_t i = 1; i <= result.size(); ++i) {
    const Dim left = i <= a.size() ? a[a.size() - i] : Dim(1);
    const Dim right = i <= b.size() ? b[b.size() - i] : Dim(1);
    result[result.size() - i] = broadcast_dim(left, right);
  }
  return result;
}

void infer_same(InferContext& context, std::size_t from, std::size_t to) {
  context.set_output(to, context.input(from));
}

} // namespace lanner::ops
