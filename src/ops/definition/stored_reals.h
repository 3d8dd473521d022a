#pragma once
// Tensors of reals that are stored quantised (graph/storage/quantization.h).

#include <functional>

#include <lanner/tensor.h>

#include "graph/graph.h"
#include "ops/elementwise/quantization.h"

namespace lanner::ops {

/// What a value that a storage names holds, as it is stored itself.
using StoredValues = std::function<Tensor(const Value&)>;
/// Of values that are constants; any other is Error{internal}.
Tensor stored_constant(const Value& value);

/// The reals that `stored` stands for, row-major and of `type`: as DequantizeLinear gives them. What is not
/// quantised is cast.
Tensor reals_of(const Tensor& stored, const Storage& storage, DType type, const StoredValues& values);
/// Writes `reals` so that they stand in `storage`, whose type and layout `stored` has: as QuantizeLinear
/// does.
void store_reals(const Tensor& reals, const Storage& storage, const StoredValues& values, Tensor& stored);

/// The scales and zero points of a storage that has some.
QuantizationTable table_of(const Storage& storage, const Shape& shape, const StoredValues& values);

} // namespace lanner::ops
