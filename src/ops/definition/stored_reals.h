#pragma once
// Quantised tensors of reals (graph/storage/quantization.h).

#include <functional>

#include <lanner/tensor.h>

#include "graph/graph.h"
#include "ops/elementwise/quantization.h"

namespace lanner::ops {

/// Returns the stored tensor of a value that a storage refers to.
using StoredValues = std::function<Tensor(const Value&)>;
/// For values that are constants; any other is Error{internal}.
Tensor stored_constant(const Value& value);

/// The reals that `stored` represents, row-major and of `type`, as DequantizeLinear computes them.
/// Unquantised tensors are cast.
Tensor reals_of(const Tensor& stored, const Storage& storage, DType type, const StoredValues& values);
/// Writes `reals` in `storage`, whose type and layout `stored` has, as QuantizeLinear does.
void store_reals(const Tensor& reals, const Storage& storage, const StoredValues& values, Tensor& stored);

/// The scales and zero points of a quantised storage.
QuantizationTable table_of(const Storage& storage, const Shape& shape, const StoredValues& values);

} // namespace lanner::ops
