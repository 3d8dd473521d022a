#include <lanner/dtype.h>

#include <array>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

enum class Family : std::uint8_t { floating, signed_integer, unsigned_integer, boolean, string, complex };

struct DTypeInfo {
  std::string_view name;
  std::uint8_t bits;
  Family family;
  std::array<std::string_view, 3> aliases; ///< NumPy's, ONNX's and other common names.
};

// In the order of DType.
constexpr std::array<DTypeInfo, dtype_count> infos = {{
    {"f32", 32, Family::floating, {"float32", "float", "single"}},
    {"f64", 64, Family::floating, {"float64", "double"}},
    {"f16", 16, Family::floating, {"float16", "half", "fp16"}},
    {"bf16", 16, Family::floating, {"bfloat16"}},
    {"i8", 8, Family::signed_integer, {"int8"}},
    {"u8", 8, Family::unsigned_integer, {"uint8", "byte"}},
    {"i16", 16, Family::signed_integer, {"int16"}},
    {"u16", 16, Family::unsigned_integer, {"uint16"}},
    {"i32", 32, Family::signed_integer, {"int32", "int"}},
    {"u32", 32, Family::unsigned_integer, {"uint32"}},
    {"i64", 64, Family::signed_integer, {"int64", "long"}},
    {"u64", 64, Family::unsigned_integer, {"uint64"}},
    {"bool", 8, Family::boolean, {"boolean", "bool_"}},
    {"string", 0, Family::string, {"str", "object"}},
    {"c64", 64, Family::complex, {"complex64"}},
    {"c128", 128, Family::complex, {"complex128"}},
    {"i4", 4, Family::signed_integer, {"int4"}},
    {"u4", 4, Family::unsigned_integer, {"uint4"}},
    {"i2", 2, Family::signed_integer, {"int2"}},
    {"u2", 2, Family::unsigned_integer, {"uint2"}},
    {"f4e2m1", 4, Family::floating, {"float4e2m1", "float4_e2m1fn"}},
    {"f8e4m3fn", 8, Family::floating, {"float8e4m3fn", "float8_e4m3fn"}},
    {"f8e4m3fnuz", 8, Family::floating, {"float8e4m3fnuz", "float8_e4m3fnuz"}},
    {"f8e5m2", 8, Family::floating, {"float8e5m2", "float8_e5m2"}},
    {"f8e5m2fnuz", 8, Family::floating, {"float8e5m2fnuz", "float8_e5m2fnuz"}},
    {"f8e8m0", 8, Family::floating, {"float8e8m0", "float8_e8m0fnu", "f8e8m0fnu"}},
}};

const DTypeInfo& info(DType type) noexcept {
  return infos[static_cast<std::size_t>(type)];
}

} // namespace

std::size_t bit_width(DType type) noexcept {
  return info(type).bits;
}
std::string_view to_string(DType type) noexcept {
  return info(type).name;
}

DType parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (name == infos[i].name) return static_cast<DType>(i);
    for (std::string_view alias : infos[i].aliases)
      if (!alias.empty() && name == alias) return static_cast<DType>(i);
  }
  fail(ErrorCode::invalid_argument,
       "dtype: \"{}\" is not known; expected a name such as f32, f16, i64, u8 or bool", name);
}

bool is_float(DType type) noexcept {
  return info(type).family == Family::floating;
}
bool is_integer(DType type) noexcept {
  return info(type).family == Family::signed_integer || info(type).family == Family::unsigned_integer;
}
bool is_signed(DType type) noexcept {
  const bool unsigned_float = type == DType::f8e8m0;
  return info(type).family == Family::signed_integer || is_complex(type) ||
         (is_float(type) && !unsigned_float);
}
bool is_complex(DType type) noexcept {
  return info(type).family == Family::complex;
}

} // namespace lanner
