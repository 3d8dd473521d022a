#pragma once
// 16-bit floats, which CPUs compute in f32.

#include <lanner/dtype.h>

namespace lanner {

constexpr bool is_half(DType type) noexcept {
  return type == DType::f16 || type == DType::bf16;
}

} // namespace lanner
