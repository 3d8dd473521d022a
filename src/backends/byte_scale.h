#pragma once
// How a byte stands for a real number.

#include <optional>

#include <lanner/dtype.h>

#include "backends/group.h"

namespace lanner {

/// real = (stored - zero) * scale.
struct ByteScale {
  float scale = 1;
  int zero = 0;
};

/// Rounding of a real to a byte.
struct ByteRounding {
  DType type = DType::i8;
  ByteScale by;
};

inline bool is_byte(DType type) {
  return type == DType::i8 || type == DType::u8;
}

/// Products and quotients of three such numbers with sums of an i32's size stay within f32's normal range.
inline bool is_usable_scale(double scale) {
  return scale >= 1e-9 && scale <= 1e9;
}

/// The scale and the zero point of `dequantize_linear` or `quantize_linear` where both are one constant
/// number, the scale a usable one. `zero_by_run`: its zero point is a value of the run, which is not read
/// here.
std::optional<ByteScale> byte_scale_of(const GroupOp& op, bool zero_by_run = false);

/// Of a `quantize_linear` of reals of f32 to bytes by such a scale; nothing for other operations.
std::optional<ByteRounding> byte_rounding_of(const GroupOp& op);

} // namespace lanner
