#include "tensor/minifloat.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace lanner {
namespace {

struct Format {
  int mantissa, bias;
  std::uint8_t sign_bit, largest, infinity,
      nan;            ///< Codes without sign; `infinity` equals `nan` in formats without infinity.
  bool negative_zero; ///< If false, that code is the only NaN.
};

constexpr Format format_of(DType type) noexcept {
  switch (type) {
  case DType::f8e4m3fn:
    return {3, 7, 0x80, 0x7e, 0x7f, 0x7f, true};
  case DType::f8e4m3fnuz:
    return {3, 8, 0x80, 0x7f, 0x80, 0x80, false};
  case DType::f8e5m2:
    return {2, 15, 0x80, 0x7b, 0x7c, 0x7e, true};
  case DType::f8e5m2fnuz:
    return {2, 16, 0x80, 0x7f, 0x80, 0x80, false};
  default:
    return {1, 1, 0x08, 0x07, 0x07, 0x08, true}; // f4e2m1
  }
}

float decode_power(std::uint8_t code) noexcept {
  if (code == 0xff) return std::numeric_limits<float>::quiet_NaN();
  return code == 0 ? 0x1p-127f : std::bit_cast<float>(static_cast<std::uint32_t>(code) << 23);
}

std::uint8_t encode_power(double value, CastRules rules) noexcept {
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0xff;
  if (magnitude < 0x1p-127) return rules.saturate ? 0x00 : 0xff;
  if (std::isinf(value)) return rules.saturate ? 0xfe : 0xff;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent); // In [0.5, 1).
  int code = exponent - 1 + 127;
  if (rules.power_rounding == PowerRounding::up && fraction > 0.5) ++code;
  if (rules.power_rounding == PowerRounding::nearest && fraction >= 0.75) ++code;
  if (code > 0xfe) return rules.saturate ? 0xfe : 0xff;
  return static_cast<std::uint8_t>(code);
}

float decode_slowly(DType type, std::uint8_t code) noexcept {
  if (type == DType::f8e8m0) return decode_power(code);
  const Format f = format_of(type);
  const bool negative = code & f.sign_bit;
  const int magnitude = code & (f.sign_bit - 1);
  const float sign = negative ? -1.0f : 1.0f;
  if (!f.negative_zero && code == f.nan) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > f.largest) {
    const bool infinite = magnitude == f.infinity && f.infinity != f.nan;
    return std::copysign(
        infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN(), sign);
  }
  const int exponent = magnitude >> f.mantissa;
  const int fraction = magnitude & ((1 << f.mantissa) - 1);
  const int whole = exponent == 0 ? fraction : fraction + (1 << f.mantissa);
  return sign * std::ldexp(static_cast<float>(whole), (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa);
}

using Table = std::array<float, 256>;
constexpr std::size_t first_minifloat = static_cast<std::size_t>(DType::f4e2m1);

std::array<Table, dtype_count - first_minifloat> make_tables() noexcept {
  std::array<Table, dtype_count - first_minifloat> tables;
  for (std::size_t t = 0; t < tables.size(); ++t)
    for (std::size_t code = 0; code < 256; ++code)
      tables[t][code] =
          decode_slowly(static_cast<DType>(first_minifloat + t), static_cast<std::uint8_t>(code));
  return tables;
}

} // namespace

float decode_minifloat(DType type, std::uint8_t code) noexcept {
  static const auto tables = make_tables();
  return tables[static_cast<std::size_t>(type) - first_minifloat][code];
}

std::uint8_t encode_minifloat(DType type, double value, CastRules rules) noexcept {
  if (type == DType::f8e8m0) return encode_power(value, rules);
  const Format f = format_of(type);
  const std::uint8_t sign = std::signbit(value) ? f.sign_bit : 0;
  if (std::isnan(value)) return f.nan | (type == DType::f4e2m1 ? 0 : sign);
  const double magnitude = std::fabs(value);
  const int own = static_cast<int>((std::bit_cast<std::uint64_t>(magnitude) >> 52) & 0x7ff) - 1023;
  const int exponent = own < 1 - f.bias ? 1 - f.bias : own;
  std::int64_t code = f.largest + 1;
  if (exponent < 64) {
    // Scaled so that one unit is the last bit; the default rounding mode is nearest even.
    const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent));
    code =
        static_cast<std::int64_t>(units) + (static_cast<std::int64_t>(exponent + f.bias - 1) << f.mantissa);
  }
  if (code > f.largest) {
    const bool saturate = rules.saturate || type == DType::f4e2m1;
    return static_cast<std::uint8_t>((saturate ? f.largest : f.infinity) | sign);
  }
  if (code == 0 && !f.negative_zero) return 0;
  return static_cast<std::uint8_t>(code | sign);
}

} // namespace lanner
