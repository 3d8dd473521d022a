#pragma once
// Quantised numbers: real = (stored - zero_point) * scale. Shared by the quantized operators.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/op.h"
#include "ops/table/arguments.h"

namespace lanner::ops {

/// Whether the node is QuantizeLinear, from reals to stored numbers, or DequantizeLinear, back.
bool quantizes(const Node& node);
bool dequantizes(const Node& node);

/// The range of a stored integer type; nothing for types that are not rounded to integers (float8, float4).
struct StoredRange {
  double least, most;
};
std::optional<StoredRange> stored_range(DType type);

/// Rounds to the nearest integer, halves to even.
double round_half_even(double x);

/// The stored number of `scaled` = real / scale, before the conversion to the stored type. Integers are
/// rounded and clamped to the range; NaN becomes its minimum.
double quantized(double scaled, double zero_point, const std::optional<StoredRange>& range);

/// Maps elements of a tensor to elements of a parameter.
class ParameterIndex {
public:
  /// A parameter of one element applies to all; one of rank 1 to the indices along `axis`; one of `shape`'s
  /// rank to blocks of `block` indices along `axis` (0: whatever makes the sizes fit).
  ParameterIndex(const Shape& shape, const Shape& parameter, std::int64_t axis, std::int64_t block);

  /// Calls `body(first, count, parameter, step)` for slices that cover the tensor in order: element `first +
  /// i` uses parameter `parameter + i * step`, with a step of 0 or 1.
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

/// The numbers that map a stored tensor to reals.
struct QuantizationTable {
  std::vector<double> scale, zero; ///< Of equal length.
  ParameterIndex index;            ///< Which of them applies to an element.
  DType precision = DType::f32;    ///< Precision of the division by scales.
};
/// `scale` in its own shape, `zero` with the same number of elements or undefined: 0.
QuantizationTable quantization_table(const Shape& shape, const Tensor& scale, const Tensor& zero,
                                     std::int64_t axis, std::int64_t block);

/// QuantizeLinear and DequantizeLinear between row-major tensors of equal shapes.
void quantize(const Tensor& reals, const QuantizationTable& table, bool saturate, Tensor& stored);
void dequantize(const Tensor& stored, const QuantizationTable& table, Tensor& reals);

} // namespace lanner::ops
