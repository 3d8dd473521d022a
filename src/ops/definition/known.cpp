#include "ops/definition/known.h"

#include <array>

#include "base/check.h"
#include "ops/definition/broadcast.h"
#include "ops/definition/visit.h"

namespace lanner::ops {

static bool holds_integers(DType type) {
  return is_integer(type) || type == DType::boolean;
}

std::optional<Dims> known_elements(const InferContext& context, std::size_t i) {
  if (i >= context.inputs() || !context.has(i) || !context.input(i).is_tensor()) return std::nullopt;
  const Known& known = context.known(i);
  if (known.elements) return known.elements;
  if (!known.tensor || !holds_integers(known.tensor->dtype())) return std::nullopt;
  if (known.tensor->elements() > max_known_elements) return std::nullopt;
  const std::vector<std::int64_t> values = read_integers(*known.tensor, "constant");
  return Dims(values.begin(), values.end());
}

std::optional<std::vector<std::int64_t>> known_integers(const InferContext& context, std::size_t i) {
  const auto elements = known_elements(context, i);
  if (!elements) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Dim& element : *elements) {
    if (!element.is_constant()) return std::nullopt;
    values.push_back(element.value());
  }
  return values;
}

std::optional<Dim> known_scalar(const InferContext& context, std::size_t i) {
  const auto elements = known_elements(context, i);
  if (!elements) return std::nullopt;
  check(elements->size() == 1, ErrorCode::invalid_argument, "input {} has {} elements, expected one", i,
        elements->size());
  return elements->front();
}

std::optional<Shape> static_shape(const InferContext& context, std::size_t i) {
  if (i >= context.inputs() || !context.has(i) || !context.input(i).is_static()) return std::nullopt;
  return context.input(i).shape();
}

std::optional<std::size_t> static_length(const InferContext& context, std::size_t i) {
  const auto shape = static_shape(context, i);
  if (!shape) return std::nullopt;
  check(shape->rank() <= 1, ErrorCode::invalid_argument, "input {} has rank {}, expected 1", i,
        shape->rank());
  return static_cast<std::size_t>(shape->elements());
}

static std::optional<Tensor> constant_tensor(DType type, const Shape& shape, const Dims& elements) {
  Tensor values = Tensor::allocate(DType::i64, shape);
  auto data = values.as<std::int64_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].is_constant()) return std::nullopt;
    data[i] = elements[i].value();
  }
  return to_dtype(values, type);
}

void set_known_elements(InferContext& context, std::size_t i, const Type& type, Dims elements) {
  if (!type.is_static() || !holds_integers(type.dtype())) return;
  const Shape shape = type.shape();
  const auto count = static_cast<std::int64_t>(elements.size());
  if (count > max_known_elements || shape.elements() != count) return;
  Known known;
  known.tensor = constant_tensor(type.dtype(), shape, elements);
  if (is_integer(type.dtype())) known.elements = std::move(elements);
  if (known.tensor || known.elements) context.set_known(i, std::move(known));
}

void set_known_view(InferContext& context, std::size_t i, const Type& type) {
  if (!type.is_static()) return;
  Known known = context.known(0);
  if (known.tensor) known.tensor = known.tensor->reshaped(type.shape());
  context.set_known(i, std::move(known));
}

void unless_overflowing(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit_exceeded) throw;
  }
}

void propagate_unary(InferContext& context, const Type& type, const KnownUnary& rule) {
  const auto elements = known_elements(context, 0);
  if (!elements) return;
  unless_overflowing([&] {
    Dims result;
    for (const Dim& element : *elements) {
      const auto value = rule(element);
      if (!value) return;
      result.push_back(*value);
    }
    set_known_elements(context, 0, type, std::move(result));
  });
}

std::optional<Dims> combine_known(const std::optional<Dims>& a, const Shape& a_shape,
                                  const std::optional<Dims>& b, const Shape& b_shape, const Shape& shape,
                                  const KnownBinary& rule) {
  if (!a || !b || shape.elements() > max_known_elements) return std::nullopt;
  Dims result;
  bool complete = true;
  const std::array shapes = {a_shape, b_shape};
  const BroadcastLoop loop(shape, shapes);
  loop.run([&](std::int64_t, const BroadcastLoop::Offsets& offsets, std::int64_t count) {
    for (std::int64_t i = 0; complete && i < count; ++i) {
      const auto value = rule((*a)[static_cast<std::size_t>(offsets[0] + i * loop.step(0))],
                              (*b)[static_cast<std::size_t>(offsets[1] + i * loop.step(1))]);
      complete = value.has_value();
      if (complete) result.push_back(*value);
    }
  });
  if (!complete) return std::nullopt;
  return result;
}

void propagate_binary(InferContext& context, const Type& type, const KnownBinary& rule) {
  const auto a_shape = static_shape(context, 0), b_shape = static_shape(context, 1);
  if (!a_shape || !b_shape || !type.is_static()) return;
  unless_overflowing([&] {
    auto result = combine_known(known_elements(context, 0), *a_shape, known_elements(context, 1), *b_shape,
                                type.shape(), rule);
    if (result) set_known_elements(context, 0, type, std::move(*result));
  });
}

std::optional<Dims> broadcast_known(const std::optional<Dims>& elements, const Shape& from, const Shape& to) {
  if (to.elements() > max_known_elements) return std::nullopt;
  const Dims zeros(static_cast<std::size_t>(to.elements()));
  return combine_known(elements, from, zeros, to, to,
                       [](const Dim& a, const Dim&) { return std::optional(a); });
}

bool surely_nonnegative(const Dim& dim) {
  if (const auto value = dim.constant()) return *value >= 0;
  return dim.bounds({}).min >= 0;
}

std::vector<std::int64_t> read_integers(const Tensor& tensor, std::string_view what) {
  check(holds_integers(tensor.dtype()), ErrorCode::invalid_argument, "{} is {}, expected integers", what,
        to_string(tensor.dtype()));
  const Tensor values = to_dtype(tensor, DType::i64);
  const auto data = values.as<std::int64_t>();
  return {data.begin(), data.end()};
}

std::int64_t read_integer(const Tensor& tensor, std::string_view what) {
  check(tensor.elements() == 1, ErrorCode::invalid_argument, "{} has {} elements, expected one", what,
        tensor.elements());
  return read_integers(tensor, what).front();
}

} // namespace lanner::ops
