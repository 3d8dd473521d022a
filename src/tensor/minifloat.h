#pragma once
// Floats of eight bits or fewer (OCP OFP8 and MX specifications; the FNUZ variants of arXiv:2206.02915).

#include <cstdint>

#include <lanner/dtype.h>

namespace lanner {

/// How a value is rounded to a power of two (`f8e8m0`).
enum class PowerRounding : std::uint8_t { up, down, nearest };

/// How a cast treats values that the target cannot represent, as in ONNX's Cast.
struct CastRules {
  bool saturate = true; ///< 8-bit floats clamp to their largest value, infinities too; else infinity or NaN.
  PowerRounding power_rounding = PowerRounding::up;
};

/// The value of the lowest bits of `code` as `type`: an f8 type or f4e2m1.
float decode_minifloat(DType type, std::uint8_t code) noexcept;
/// The nearest code, ties to even. f4e2m1 always saturates and maps NaN to -0.
std::uint8_t encode_minifloat(DType type, double value, CastRules rules) noexcept;

} // namespace lanner
