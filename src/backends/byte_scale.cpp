#include "backends/byte_scale.h"

#include "graph/attribute.h"
#include "tensor/cast.h"

namespace lanner {
namespace {

double number_of(const Tensor& constant) {
  double number = 0;
  cast_elements(constant.dtype(), constant.data(), DType::f64, &number, 1);
  return number;
}

} // namespace

std::optional<ByteScale> byte_scale_of(const GroupOp& op, bool zero_by_run) {
  const Operand scale = op.input(1), zero = op.input(2);
  if (!scale.constant || scale.dtype() != DType::f32 || scale.shape().elements() != 1 ||
      op.attributes().integer("block_size", 0) != 0)
    return std::nullopt;
  if (zero && (zero.shape().elements() != 1 || (!zero.constant && !zero_by_run))) return std::nullopt;
  const double number = number_of(*scale.constant);
  if (!is_usable_scale(number)) return std::nullopt;
  const bool known = zero && zero.constant && !zero_by_run;
  return ByteScale{static_cast<float>(number), known ? static_cast<int>(number_of(*zero.constant)) : 0};
}

std::optional<ByteRounding> byte_rounding_of(const GroupOp& op) {
  if (op.kind() != "quantize_linear" || !is_byte(op.type().dtype()) || op.input(0).dtype() != DType::f32 ||
      op.attributes().get<DType>("precision", DType::f32) != DType::f32)
    return std::nullopt;
  const auto by = byte_scale_of(op);
  return by ? std::optional(ByteRounding{op.type().dtype(), *by}) : std::nullopt;
}

} // namespace lanner
