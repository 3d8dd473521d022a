#include "ops/elementwise/quantization.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"
#include "tensor/cast.h"
#include "tensor/float16.h"

namespace lanner::ops {

bool quantizes(const Node& node) {
  return node.kind() == "quantize_linear";
}

bool dequantizes(const Node& node) {
  return node.kind() == "dequantize_linear";
}

std::optional<StoredRange> stored_range(DType type) {
  if (!is_integer(type)) return std::nullopt;
  const auto bits = static_cast<int>(bit_width(type));
  if (is_signed(type)) return StoredRange{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return StoredRange{0, std::ldexp(1.0, bits) - 1};
}

double round_half_even(double x) {
  const double below = std::floor(x), over = x - below;
  if (over != 0.5) return over < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

double quantized(double scaled, double zero_point, const std::optional<StoredRange>& range) {
  if (!range) return scaled + zero_point;
  if (std::isnan(scaled)) return range->least;
  return std::clamp(round_half_even(scaled) + zero_point, range->least, range->most);
}

ParameterIndex::ParameterIndex(const Shape& shape, const Shape& parameter, std::int64_t axis,
                               std::int64_t block) {
  single_ = parameter.elements() == 1 && block == 0;
  if (single_) return;
  const std::size_t along = resolve_axis(axis, shape.rank());
  view_ = view_axis(shape, along);
  if (parameter.rank() == 1 && block == 0) {
    check(parameter[0] == view_.size, ErrorCode::invalid_argument,
          "scale has {} values, expected {} (axis {})", parameter[0], view_.size, axis);
    return;
  }
  check(parameter.rank() == shape.rank(), ErrorCode::invalid_argument,
        "scale has shape {}, expected one value, one per index of axis {}, or the rank of {}",
        parameter.to_string(), axis, shape.to_string());
  for (std::size_t d = 0; d < shape.rank(); ++d)
    check(d == along || parameter[d] == shape[d], ErrorCode::invalid_argument, "scale has shape {}, input {}",
          parameter.to_string(), shape.to_string());
  const std::int64_t blocks = parameter[along];
  if (view_.size == 0) return;
  check(blocks > 0, ErrorCode::invalid_argument, "scale has shape {}, which is empty", parameter.to_string());
  block_ = block > 0 ? block : (view_.size + blocks - 1) / blocks;
  check((view_.size + block_ - 1) / block_ == blocks, ErrorCode::invalid_argument,
        "{} blocks of {} do not make up axis {} of {} elements", blocks, block_, axis, view_.size);
  outer_step_ = blocks;
  inner_ = view_.inner;
}

void ParameterIndex::for_slices(
    std::int64_t elements,
    const std::function<void(std::int64_t, std::int64_t, std::size_t, std::size_t)>& body) const {
  if (elements == 0) return;
  if (single_) return body(0, elements, 0, 0);
  const std::int64_t size = view_.size, inner = view_.inner;
  for (std::int64_t begin = 0; begin < elements; begin += size * inner) {
    check_deadline();
    // For the last axis a slice is a block, or the whole axis where each index has its own scale.
    const std::int64_t together = inner > 1 ? 1 : block_ > 1 ? block_ : size;
    for (std::int64_t i = 0; i < size; i += together)
      body(begin + i * inner, std::min(together, size - i) * inner, (*this)(begin + i * inner),
           inner > 1 ? (inner_ > 1 ? 1 : 0) : (block_ > 1 ? 0 : 1));
  }
}

QuantizationTable quantization_table(const Shape& shape, const Tensor& scale, const Tensor& zero,
                                     std::int64_t axis, std::int64_t block) {
  QuantizationTable table{
      doubles_of(scale), {}, ParameterIndex(shape, scale.shape(), axis, block), scale.dtype()};
  table.zero = zero.defined() ? doubles_of(zero) : std::vector<double>(table.scale.size(), 0);
  check(table.zero.size() == table.scale.size(), ErrorCode::invalid_argument,
        "the zero point has {} values, the scale {}", table.zero.size(), table.scale.size());
  return table;
}

/// x / scale, rounded to the precision of the division.
static double divided(double x, double scale, DType precision) {
  if (precision == DType::f64) return x / scale;
  const float quotient = static_cast<float>(x) / static_cast<float>(scale);
  if (precision == DType::f16) return static_cast<double>(static_cast<float>(Half(quotient)));
  if (precision == DType::bf16) return static_cast<double>(static_cast<float>(BFloat16(quotient)));
  return static_cast<double>(quotient);
}

void quantize(const Tensor& reals, const QuantizationTable& table, bool saturate, Tensor& stored) {
  const std::vector<double> x = doubles_of(reals);
  const auto range = stored_range(stored.dtype());
  Tensor scaled = Tensor::allocate(DType::f64, stored.shape());
  const auto result = scaled.as<double>();
  table.index.for_slices(
      reals.elements(), [&](std::int64_t first, std::int64_t count, std::size_t p, std::size_t step) {
        for (std::int64_t i = 0; i < count; ++i, p += step) {
          const auto e = static_cast<std::size_t>(first + i);
          result[e] = quantized(divided(x[e], table.scale[p], table.precision), table.zero[p], range);
        }
      });
  CastRules rules;
  rules.saturate = saturate;
  copy_tensor(scaled, stored, rules);
}

void dequantize(const Tensor& stored, const QuantizationTable& table, Tensor& reals) {
  // 16-bit numbers less a zero point are exact in f32, so only the product is rounded.
  const bool wide = bit_width(stored.dtype()) > 16 || reals.dtype() == DType::f64;
  const auto run = [&]<typename T>(Tensor result) {
    copy_tensor(stored, result);
    const auto x = result.as<T>();
    table.index.for_slices(
        reals.elements(), [&](std::int64_t first, std::int64_t count, std::size_t p, std::size_t step) {
          for (std::int64_t i = 0; i < count; ++i, p += step) {
            T& element = x[static_cast<std::size_t>(first + i)];
            element = (element - static_cast<T>(table.zero[p])) * static_cast<T>(table.scale[p]);
          }
        });
    if (result.data() != reals.data()) copy_tensor(result, reals);
  };
  if (wide)
    run.operator()<double>(Tensor::allocate(DType::f64, stored.shape()));
  else
    run.operator()<float>(reals.dtype() == DType::f32 ? reals : Tensor::allocate(DType::f32, stored.shape()));
}

} // namespace lanner::ops
