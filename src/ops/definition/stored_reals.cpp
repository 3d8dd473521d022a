#include "ops/definition/stored_reals.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "graph/storage/quantization.h"

namespace lanner::ops {
namespace {

Tensor row_major(const Tensor& tensor, DType type) {
  if (tensor.dtype() == type && tensor.layout().row_major()) return tensor;
  Tensor made = Tensor::allocate(type, tensor.shape());
  copy_tensor(tensor, made);
  return made;
}

/// Constant scales are f32, as in ONNX.
Tensor scales_of(const QuantizationNumbers& given, const StoredValues& values) {
  if (given.value)
    return reals_of(values(*given.value), given.value->storage, given.value->type.dtype(), values);
  const std::vector<float> numbers(given.numbers.begin(), given.numbers.end());
  return Tensor::from<float>(numbers, {static_cast<std::int64_t>(numbers.size())});
}

/// One zero point for each scale.
Tensor zeros_of(const QuantizationNumbers& given, std::size_t scales, const StoredValues& values) {
  if (!given.given()) return {};
  if (given.value) return row_major(values(*given.value), given.value->type.dtype());
  std::vector<double> numbers = given.numbers;
  if (numbers.size() == 1) numbers.resize(scales, numbers[0]);
  return Tensor::from<double>(numbers, {static_cast<std::int64_t>(numbers.size())});
}

} // namespace

Tensor stored_constant(const Value& value) {
  const Tensor* constant = value.constant();
  check(constant != nullptr, ErrorCode::internal,
        "%{} is not constant, but is a scale or zero point of a constant", value.name());
  return *constant;
}

QuantizationTable table_of(const Storage& storage, const Shape& shape, const StoredValues& values) {
  const Quantization& q = *storage.quantization;
  const Tensor scale = scales_of(q.scale, values);
  const Tensor zero = zeros_of(q.zero, static_cast<std::size_t>(scale.elements()), values);
  return quantization_table(shape, scale, zero, std::max(q.axis, 0), q.block);
}

Tensor reals_of(const Tensor& stored, const Storage& storage, DType type, const StoredValues& values) {
  if (!storage.quantization) return row_major(stored, type);
  Tensor reals = Tensor::allocate(type, stored.shape());
  dequantize(row_major(stored, stored.dtype()), table_of(storage, stored.shape(), values), reals);
  return reals;
}

void store_reals(const Tensor& reals, const Storage& storage, const StoredValues& values, Tensor& stored) {
  if (!storage.quantization) return copy_tensor(reals, stored);
  const QuantizationTable table = table_of(storage, reals.shape(), values);
  if (stored.layout().row_major()) return quantize(reals, table, true, stored);
  Tensor plain = Tensor::allocate(stored.dtype(), stored.shape());
  quantize(reals, table, true, plain);
  copy_tensor(plain, stored);
}

} // namespace lanner::ops
