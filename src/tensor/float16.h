#pragma once
// Bits of 16-bit floats (IEEE 754 binary16 and bfloat16), inline so that loops over them vectorise.

#include <bit>
#include <cstdint>

namespace lanner {

inline float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  // Multiplying by 2^112 re-biases the exponent and normalises subnormals in one step.
  float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  if (magnitude >= 0x7c00u) value = std::bit_cast<float>(0x7f800000u | (magnitude << 13));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

inline std::uint16_t float_to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u)
    return static_cast<std::uint16_t>(sign | 0x7c00u); // 65520 rounds to infinity.
  if (magnitude < 0x38800000u) {
    // Adding 0.5 aligns the last bit of a subnormal half with the last bit of the float, which rounds it.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bfloat16_to_float(std::uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

inline std::uint16_t float_to_bfloat16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Rounds to odd, so that a second rounding to a narrower type gives the same as one rounding from `value`
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
/// odd").
inline float round_to_odd(double value) noexcept {
  float nearest = static_cast<float>(value);
  const double back = nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  if (!finite || back == value || (bits & 1u)) return nearest;
  const bool away = value < 0 ? back < value : back > value;
  bits = away ? bits - 1 : bits + 1;
  return std::bit_cast<float>(bits);
}

} // namespace lanner
