#pragma once
// Element types.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lanner {

/// Element type of a tensor. The order is part of the C ABI and the plan file: append only.
enum class DType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
  string,
  c64,
  c128,
  i4,
  u4,
  i2,
  u2,
  f4e2m1,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
};
inline constexpr std::size_t dtype_count = 26;

/// Bits of one element; types under a byte are packed densely, lowest bits first. 0 for `string`, whose
/// elements are `std::string` objects.
std::size_t bit_width(DType type) noexcept;
/// The name in text IR, Python and messages (`f32`, `bf16`, `bool`).
std::string_view to_string(DType type) noexcept;
/// The type with this name; also accepts NumPy's and ONNX's names (`float32`, `float`, `half`). Throws
/// Error{invalid_argument}.
DType parse_dtype(std::string_view name);

bool is_float(DType type) noexcept;
bool is_integer(DType type) noexcept; ///< Signed and unsigned integers, not `boolean`.
bool is_signed(DType type) noexcept;
bool is_complex(DType type) noexcept;

} // namespace lanner
