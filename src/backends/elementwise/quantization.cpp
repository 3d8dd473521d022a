#include "backends/elementwise/quantization.h"

#include <cmath>

#include "graph/attribute.h"
#include "ops/elementwise/quantization.h"
#include "tensor/cast.h"

namespace lanner {
namespace {

bool is_short_integer(DType type) {
  return is_integer(type) && (bit_width(type) == 8 || bit_width(type) == 16);
}

/// The one element of a constant of numbers.
std::optional<float> number_of(const Operand& operand) {
  if (!operand.constant || operand.constant->elements() != 1) return std::nullopt;
  float number = 0;
  cast_elements(operand.constant->dtype(), operand.constant->data(), DType::f32, &number, 1);
  return number;
}

std::size_t axis_of(const GroupOp& op) {
  const std::int64_t axis = op.attributes().integer("axis", 1);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(op.type().rank()) : axis);
}

bool is_along_axis(const GroupOp& op, const Operand& parameter) {
  const std::size_t axis = axis_of(op);
  const Shape shape = parameter.shape();
  return shape.elements() == 1 ||
         (shape.rank() == 1 && axis < op.type().rank() && shape[0] == op.type().shape()[axis]);
}

} // namespace

bool is_quantize(const GroupOp& op) {
  return ops::quantizes(*op.node);
}

bool is_dequantize(const GroupOp& op) {
  return ops::dequantizes(*op.node);
}

std::string quantization_obstacle(const GroupOp& op) {
  const DType x = op.input(0).dtype(), y = op.type().dtype(), scale = op.input(1).dtype();
  const DType stored = is_quantize(op) ? y : x, real = is_quantize(op) ? x : y;
  if (op.attributes().integer("block_size", 0) != 0) return op.kind() + " with block_size";
  if (op.attributes().get<DType>("precision", scale) != DType::f32 || scale != DType::f32 ||
      real != DType::f32)
    return op.kind() + " of reals other than f32";
  if (!is_short_integer(stored) && !(is_dequantize(op) && stored == DType::i32))
    return op.kind() + " of " + std::string(to_string(stored));
  for (std::size_t i : {1, 2})
    if (op.input(i) && (op.input(i).is_op() || !is_along_axis(op, op.input(i))))
      return op.kind() + " with such a scale or zero point";
  // In f32 a large number less another one loses digits.
  if (stored == DType::i32 && zero_number(op) != 0.0F) return op.kind() + " of i32 with a zero point";
  return {};
}

Shape parameter_shape(const GroupOp& op, std::size_t i) {
  const Shape own = op.input(i).shape();
  if (own.elements() == 1) return {};
  std::vector<std::int64_t> sizes(op.type().rank() - axis_of(op), 1);
  sizes.front() = own[0];
  return Shape(std::move(sizes));
}

std::optional<float> zero_number(const GroupOp& op) {
  return op.input(2) ? number_of(op.input(2)) : 0.0F;
}

std::optional<float> scale_number(const GroupOp& op) {
  return number_of(op.input(1));
}

StoredBounds stored_bounds(DType type) {
  const auto bits = static_cast<int>(bit_width(type));
  if (is_signed(type)) return {-std::ldexp(1.0F, bits - 1), std::ldexp(1.0F, bits - 1) - 1};
  return {0, std::ldexp(1.0F, bits) - 1};
}

} // namespace lanner
