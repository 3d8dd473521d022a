#include "tensor/element_codec.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include <lanner/error.h>
#include <lanner/tensor.h>

#include "base/check.h"
#include "tensor/float16.h"
#include "tensor/truncate.h"

namespace lanner {
namespace {

using Offsets = std::span<const std::int64_t>;

template<typename Read>
void read_each(Offsets offsets, WideValue* values, Read read) {
  for (std::size_t i = 0; i < offsets.size(); ++i) values[i] = read(offsets[i]);
}

template<typename T>
void read_native(const std::byte* base, Offsets offsets, WideValue* values) {
  const T* elements = reinterpret_cast<const T*>(base);
  read_each(offsets, values, [=](std::int64_t at) {
    WideValue value;
    if constexpr (std::is_floating_point_v<T>)
      value.f64 = elements[at];
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      value.u64 = elements[at];
    else
      value.i64 = elements[at];
    return value;
  });
}

unsigned packed_bits(const std::byte* base, std::int64_t at, std::size_t bits) noexcept {
  const std::size_t position = static_cast<std::size_t>(at) * bits;
  return (std::to_integer<unsigned>(base[position / 8]) >> (position % 8)) & ((1u << bits) - 1);
}

void read_packed(DType type, const std::byte* base, Offsets offsets, WideValue* values) {
  const std::size_t bits = bit_width(type);
  const unsigned sign_bit = is_signed(type) ? 1u << (bits - 1) : 0;
  read_each(offsets, values, [=](std::int64_t at) {
    const unsigned code = packed_bits(base, at, bits);
    return WideValue{.i64 = static_cast<std::int64_t>(code ^ sign_bit) - static_cast<std::int64_t>(sign_bit)};
  });
}

template<typename T>
T to_integer(Wide wide, WideValue value) noexcept {
  if (wide != Wide::f64) return static_cast<T>(value.u64);
  return truncated<T>(value.f64);
}

double to_double(Wide wide, WideValue value) noexcept {
  if (wide == Wide::f64) return value.f64;
  return wide == Wide::i64 ? static_cast<double>(value.i64) : static_cast<double>(value.u64);
}

// An integer above 2^53 must not be rounded to double before it is rounded to float.
float to_float(Wide wide, WideValue value) noexcept {
  if (wide == Wide::f64) return static_cast<float>(value.f64);
  return wide == Wide::i64 ? static_cast<float>(value.i64) : static_cast<float>(value.u64);
}

// For a second rounding to a type narrower than float. Bits below the 2^11 that a double may drop are ORed
// into bit 11, which is rounding to odd as well.
float to_odd_float(Wide wide, WideValue value) noexcept {
  constexpr std::uint64_t exact = 1ull << 53;
  if (wide == Wide::f64) return round_to_odd(value.f64);
  const bool negative = wide == Wide::i64 && value.i64 < 0;
  std::uint64_t magnitude = negative ? 0 - value.u64 : value.u64;
  if (magnitude >= exact) magnitude = (magnitude & ~0x7ffull) | ((magnitude & 0x7ff) ? 0x800ull : 0);
  const double wide_value = static_cast<double>(magnitude);
  return round_to_odd(negative ? -wide_value : wide_value);
}

template<typename T, typename Convert>
void write_each(std::byte* base, Offsets offsets, const WideValue* values, Convert convert) {
  T* elements = reinterpret_cast<T*>(base);
  for (std::size_t i = 0; i < offsets.size(); ++i) elements[offsets[i]] = convert(values[i]);
}

template<typename T>
void write_integer(std::byte* base, Offsets offsets, Wide wide, const WideValue* values) {
  write_each<T>(base, offsets, values, [=](WideValue value) { return to_integer<T>(wide, value); });
}

void write_packed(DType type, std::byte* base, Offsets offsets, Wide wide, const WideValue* values) {
  const std::size_t bits = bit_width(type);
  const unsigned mask = (1u << bits) - 1;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const unsigned code = type == DType::f4e2m1
                              ? encode_minifloat(type, to_double(wide, values[i]), {})
                              : static_cast<unsigned>(to_integer<std::int8_t>(wide, values[i]));
    const std::size_t position = static_cast<std::size_t>(offsets[i]) * bits;
    std::byte& target = base[position / 8];
    const unsigned kept = std::to_integer<unsigned>(target) & ~(mask << (position % 8));
    target = static_cast<std::byte>(kept | ((code & mask) << (position % 8)));
  }
}

} // namespace

Wide wide_of(DType type) noexcept {
  if (is_float(type)) return Wide::f64;
  return type == DType::u64 ? Wide::u64 : Wide::i64;
}

void read_elements(DType type, const std::byte* base, Offsets offsets, WideValue* values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(base);
  const auto* words = reinterpret_cast<const std::uint16_t*>(base);
  switch (type) {
  case DType::f32:
    return read_native<float>(base, offsets, values);
  case DType::f64:
    return read_native<double>(base, offsets, values);
  case DType::i8:
    return read_native<std::int8_t>(base, offsets, values);
  case DType::u8:
    return read_native<std::uint8_t>(base, offsets, values);
  case DType::i16:
    return read_native<std::int16_t>(base, offsets, values);
  case DType::u16:
    return read_native<std::uint16_t>(base, offsets, values);
  case DType::i32:
    return read_native<std::int32_t>(base, offsets, values);
  case DType::u32:
    return read_native<std::uint32_t>(base, offsets, values);
  case DType::i64:
    return read_native<std::int64_t>(base, offsets, values);
  case DType::u64:
    return read_native<std::uint64_t>(base, offsets, values);
  case DType::boolean:
    return read_each(offsets, values, [=](std::int64_t at) { return WideValue{.i64 = bytes[at] != 0}; });
  case DType::f16:
    return read_each(offsets, values,
                     [=](std::int64_t at) { return WideValue{.f64 = half_to_float(words[at])}; });
  case DType::bf16:
    return read_each(offsets, values,
                     [=](std::int64_t at) { return WideValue{.f64 = bfloat16_to_float(words[at])}; });
  case DType::i4:
  case DType::u4:
  case DType::i2:
  case DType::u2:
    return read_packed(type, base, offsets, values);
  case DType::f4e2m1:
    return read_each(offsets, values, [=](std::int64_t at) {
      return WideValue{.f64 = decode_minifloat(type, static_cast<std::uint8_t>(packed_bits(base, at, 4)))};
    });
  case DType::f8e4m3fn:
  case DType::f8e4m3fnuz:
  case DType::f8e5m2:
  case DType::f8e5m2fnuz:
  case DType::f8e8m0:
    return read_each(offsets, values,
                     [=](std::int64_t at) { return WideValue{.f64 = decode_minifloat(type, bytes[at])}; });
  case DType::string:
  case DType::c64:
  case DType::c128:
    break;
  }
  fail(ErrorCode::unsupported, "cast: {} is not a real number type", to_string(type));
}

void write_elements(DType type, std::byte* base, Offsets offsets, Wide wide, const WideValue* values,
                    CastRules rules) {
  switch (type) {
  case DType::f32:
    return write_each<float>(base, offsets, values, [=](WideValue v) { return to_float(wide, v); });
  case DType::f64:
    return write_each<double>(base, offsets, values, [=](WideValue v) { return to_double(wide, v); });
  case DType::f16:
    return write_each<std::uint16_t>(base, offsets, values,
                                     [=](WideValue v) { return float_to_half(to_odd_float(wide, v)); });
  case DType::bf16:
    return write_each<std::uint16_t>(base, offsets, values,
                                     [=](WideValue v) { return float_to_bfloat16(to_odd_float(wide, v)); });
  case DType::i8:
    return write_integer<std::int8_t>(base, offsets, wide, values);
  case DType::u8:
    return write_integer<std::uint8_t>(base, offsets, wide, values);
  case DType::i16:
    return write_integer<std::int16_t>(base, offsets, wide, values);
  case DType::u16:
    return write_integer<std::uint16_t>(base, offsets, wide, values);
  case DType::i32:
    return write_integer<std::int32_t>(base, offsets, wide, values);
  case DType::u32:
    return write_integer<std::uint32_t>(base, offsets, wide, values);
  case DType::i64:
    return write_integer<std::int64_t>(base, offsets, wide, values);
  case DType::u64:
    return write_integer<std::uint64_t>(base, offsets, wide, values);
  case DType::boolean:
    return write_each<std::uint8_t>(base, offsets, values, [=](WideValue v) -> std::uint8_t {
      return wide == Wide::f64 ? v.f64 != 0 : v.u64 != 0;
    });
  case DType::i4:
  case DType::u4:
  case DType::i2:
  case DType::u2:
  case DType::f4e2m1:
    return write_packed(type, base, offsets, wide, values);
  case DType::f8e4m3fn:
  case DType::f8e4m3fnuz:
  case DType::f8e5m2:
  case DType::f8e5m2fnuz:
  case DType::f8e8m0:
    return write_each<std::uint8_t>(base, offsets, values, [=](WideValue v) {
      return encode_minifloat(type, to_double(wide, v), rules);
    });
  case DType::string:
  case DType::c64:
  case DType::c128:
    break;
  }
  fail(ErrorCode::unsupported, "cast: {} is not a real number type", to_string(type));
}

} // namespace lanner
