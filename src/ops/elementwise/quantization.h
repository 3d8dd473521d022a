#pragma once
// Numbers stored in few bits: real = (stored - zero_point) * scale. Shared by the quantized operators.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/op.h"
#include "ops/table/arguments.h"

namespace lanner::ops {

/// The values that a stored integer type holds; nothing for types that are not rounded to whole numbers
/// (float8, float4).
struct StoredRange {
  double least, most;
};
std::optional<StoredRange> stored_range(DType type);

/// The nearest whole number, halves to even.
double round_half_even(double x);

/// What is stored for `scaled` = real / scale, before the conversion to the stored type. Integers are rounded
/// and held in range; NaN is the least of them.
double quantized(double scaled, double zero_point, const std::optional<StoredRange>& range);

/// Which element of a parameter belongs to which element of a tensor.
class ParameterIndex {
public:
  /// A parameter of one element serves all; one of rank 1 the places along `axis`; one of `shape`'s rank a
  /// block of `block` places along `axis` (0: as many as make the sizes fit).
  ParameterIndex(const Shape& shape, const Shape& parameter, std::int64_t axis, std::int64_t block);

  /// Calls `body(first, count, parameter, step)` for stretches that make up the tensor in order: element
  /// `first + i` is of parameter `parameter + i * step`, a step of 0 or 1.
  void
  for_slices(std::int64_t elements,
             const std::function<void(std::int64_t, std::int64_t, std::size_t, std::size_t)>& body) const;

  std::size_t operator()(std::int64_t element) const {
    if (single_) return 0;
    const std::int64_t o = element / (view_.size * view_.inner), i = element / view_.inner % view_.size;
    return static_cast<std::size_t>(((o * outer_step_) + i / block_) * inner_ +
                                    (inner_ == 1 ? 0 : element % view_.inner));
  }

private:
  AxisView view_;
  bool single_ = false;
  std::int64_t block_ = 1, outer_step_ = 0, inner_ = 1;
};

/// How a tensor stands for reals, in numbers.
struct QuantizationTable {
  std::vector<double> scale, zero; ///< As many of one as of the other.
  ParameterIndex index;            ///< Of which of them an element is.
  DType precision = DType::f32;    ///< In which reals are divided by scales.
};
/// `scale` in its own shape, `zero` of the same number of elements or undefined: 0.
QuantizationTable quantization_table(const Shape& shape, const Tensor& scale, const Tensor& zero,
                                     std::int64_t axis, std::int64_t block);

/// QuantizeLinear and DequantizeLinear, from row-major to row-major; shapes are equal.
void quantize(const Tensor& reals, const QuantizationTable& table, bool saturate, Tensor& stored);
void dequantize(const Tensor& stored, const QuantizationTable& table, Tensor& reals);

} // namespace lanner::ops
