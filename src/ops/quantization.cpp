#include "ops/quantization.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lanner::ops {

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
  const std::size_t place = resolve_axis(axis, shape.rank());
  view_ = view_axis(shape, place);
  if (parameter.rank() == 1 && block == 0) {
    check(parameter[0] == view_.size, ErrorCode::invalid_argument,
          "scale has {} values, expected {} (axis {})", parameter[0], view_.size, axis);
    return;
  }
  check(parameter.rank() == shape.rank(), ErrorCode::invalid_argument,
        "scale has shape {}, expected one value, one an index of axis {}, or the rank of {}",
        parameter.to_string(), axis, shape.to_string());
  for (std::size_t d = 0; d < shape.rank(); ++d)
    check(d == place || parameter[d] == shape[d], ErrorCode::invalid_argument, "scale has shape {}, input {}",
          parameter.to_string(), shape.to_string());
  const std::int64_t blocks = parameter[place];
  if (view_.size == 0) return;
  check(blocks > 0, ErrorCode::invalid_argument, "scale has shape {}, which is empty", parameter.to_string());
  block_ = block > 0 ? block : (view_.size + blocks - 1) / blocks;
  check((view_.size + block_ - 1) / block_ == blocks, ErrorCode::invalid_argument,
        "{} blocks of {} do not make up axis {} of {} elements", blocks, block_, axis, view_.size);
  outer_step_ = blocks;
  inner_ = view_.inner;
}

} // namespace lanner::ops
