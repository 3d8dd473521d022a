#pragma once
// Elements of the types that the libraries support.

#include <cmath>
#include <cstdint>
#include <cstring>

#include <lanner/tensor.h>

namespace fake {

/// The types as both libraries number them: f32, f16, and bf16 by two numbers.
inline bool is_bf16(int type) {
  return type == 9 || type == 14;
}

inline float load(const void* data, int type, std::int64_t index) {
  if (type == 0) return static_cast<const float*>(data)[index];
  const auto* bits = static_cast<const std::uint16_t*>(data) + index;
  if (is_bf16(type)) {
    lanner::BFloat16 value;
    value.bits = *bits;
    return static_cast<float>(value);
  }
  lanner::Half value;
  value.bits = *bits;
  return static_cast<float>(value);
}

inline void save(void* data, int type, std::int64_t index, float value) {
  if (type == 0)
    static_cast<float*>(data)[index] = value;
  else
    static_cast<std::uint16_t*>(data)[index] =
        is_bf16(type) ? lanner::BFloat16(value).bits : lanner::Half(value).bits;
}

inline float gelu_tanh(float x) {
  return 0.5F * x * (1 + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
}

} // namespace fake
