#include "backends/cuda/source_text.h"

#include <cmath>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::cuda {
namespace {

/// Common declarations for every kernel, including formulas (ops/elementwise/formula.cpp). NVRTC finds no
/// headers by itself, so halves are handled as bits, converted by PTX instructions.
constexpr const char* prelude_text = R"(#define INF __int_as_float(0x7f800000)
#define NAN_ __int_as_float(0x7fffffff)
typedef long long index_t;
// See Note [Early starts] in device/cuda/order.h. The next kernel may start when all blocks have called it.
__device__ inline void start_next() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Waits for the end of all earlier work. Every kernel calls it before it reads or writes memory that others write.
__device__ inline void wait_for_earlier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
template<typename T> __device__ inline float load(T x) { return static_cast<float>(x); }
struct half_t { unsigned short bits; };
struct bf16_t { unsigned short bits; };
template<> __device__ inline float load(half_t x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}
template<> __device__ inline float load(bf16_t x) { return __int_as_float(static_cast<int>(x.bits) << 16); }
__device__ inline half_t to_half(float x) {
  half_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}
__device__ inline bf16_t to_bf16(float x) {
  const unsigned bits = static_cast<unsigned>(__float_as_int(x));
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<unsigned short>(nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
__device__ inline float erf_of_halves(float x) {
  const float z = fabsf(x), square = z * z;
  float t, power;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(fmaf(0.3275911f, z, 1.0f)));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(square * -1.442695041f));
  const float sum = fmaf(fmaf(fmaf(fmaf(1.061405429f, t, -1.453152027f), t, 1.421413741f), t, -0.284496736f), t, 0.254829592f);
  return copysignf(fmaf(-sum * t, power, 1.0f), x);
}
template<typename T> struct Store { static __device__ inline T of(float x) { return static_cast<T>(x); } };
// As truncated() of tensor/truncate.h.
template<typename T> __device__ inline T whole(float x) {
  if (sizeof(T) < 4) return static_cast<T>(whole<long long>(x));
  constexpr bool negative = static_cast<T>(-1) < static_cast<T>(0);
  constexpr int digits = 8 * sizeof(T) - negative;
  constexpr T most = static_cast<T>(~0ull >> (64 - digits));
  const float end = 2.0f * static_cast<float>(1ull << (digits - 1)), least = negative ? -end : 0.0f;
  if (x != x) return 0;
  if (x <= least) return negative ? static_cast<T>(-most - 1) : static_cast<T>(0);
  return x >= end ? most : static_cast<T>(x);
}
template<typename T> struct StoreWhole { static __device__ inline T of(float x) { return whole<T>(x); } };
template<> struct Store<signed char> : StoreWhole<signed char> {};
template<> struct Store<unsigned char> : StoreWhole<unsigned char> {};
template<> struct Store<short> : StoreWhole<short> {};
template<> struct Store<unsigned short> : StoreWhole<unsigned short> {};
template<> struct Store<int> : StoreWhole<int> {};
template<> struct Store<unsigned> : StoreWhole<unsigned> {};
template<> struct Store<long long> : StoreWhole<long long> {};
template<> struct Store<unsigned long long> : StoreWhole<unsigned long long> {};
template<> struct Store<bool> { static __device__ inline bool of(float x) { return x != 0.0f; } };
template<> struct Store<half_t> { static __device__ inline half_t of(float x) { return to_half(x); } };
template<> struct Store<bf16_t> { static __device__ inline bf16_t of(float x) { return to_bf16(x); } };
__device__ inline float at_least(float x, float low) { return x < low ? low : x; }
__device__ inline float at_most(float x, float high) { return x > high ? high : x; }
__device__ inline float smaller(float x, float y) { return x < y || x != x ? x : y; }
__device__ inline float larger(float x, float y) { return x > y || x != x ? x : y; }
__device__ inline float truth(bool x) { return x ? 1.0f : 0.0f; }
template<typename T, int n> struct __align__(sizeof(T) * n) Pack { T values[n]; };
template<typename T, int n> __device__ inline Pack<T, n> load_pack(const T* p, bool aligned) {
  if (aligned) return *reinterpret_cast<const Pack<T, n>*>(p);
  Pack<T, n> pack;
#pragma unroll
  for (int k = 0; k < n; ++k) pack.values[k] = p[k];
  return pack;
}
template<typename T, int n> __device__ inline void store_pack(T* p, const Pack<T, n>& pack, bool aligned) {
  if (aligned) {
    *reinterpret_cast<Pack<T, n>*>(p) = pack;
    return;
  }
#pragma unroll
  for (int k = 0; k < n; ++k) p[k] = pack.values[k];
}
template<typename T, int n> __device__ inline bool is_aligned(const T* p) {
  return reinterpret_cast<unsigned long long>(p) % (sizeof(T) * n) == 0;
}
)";

} // namespace

std::string_view prelude() {
  return prelude_text;
}

std::string_view type_name(DType type) {
  switch (type) {
  case DType::f32:
    return "float";
  case DType::f64:
    return "double";
  case DType::f16:
    return "half_t";
  case DType::bf16:
    return "bf16_t";
  case DType::boolean:
    return "bool";
  case DType::i8:
    return "signed char";
  case DType::u8:
    return "unsigned char";
  case DType::i16:
    return "short";
  case DType::u16:
    return "unsigned short";
  case DType::i32:
    return "int";
  case DType::u32:
    return "unsigned int";
  case DType::i64:
    return "long long";
  case DType::u64:
    return "unsigned long long";
  default:
    fail(ErrorCode::internal, "cuda: elementwise: no element of type {}", to_string(type));
  }
}

std::string number(float value) {
  if (std::isnan(value)) return "NAN_";
  if (std::isinf(value)) return value > 0 ? "INF" : "(-INF)";
  return fmt::format("({:a}f)", value);
}

std::string formula_text(const Formula& formula, const Numbers& numbers,
                         std::span<const std::string> operands) {
  std::string text = formula.cuda;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  const char* const names[] = {"{x}", "{y}", "{z}"};
  for (std::size_t k = 0; k < operands.size(); ++k) replace(names[k], operands[k]);
  replace("{p}", number(numbers.p));
  replace("{q}", number(numbers.q));
  return text;
}

std::string stored_text(DType type, const std::optional<ByteRounding>& rounding) {
  if (!rounding)
    return fmt::format("typedef {} result_t;\n"
                       "__device__ inline result_t stored(float r) {{ return Store<result_t>::of(r); }}\n",
                       type_name(type));
  const float least = rounding->type == DType::i8 ? -128.0F : 0.0F;
  // NaN becomes the least number.
  return fmt::format(
      "typedef {0} result_t;\n"
      "__device__ inline result_t stored(float r) {{\n  r = rintf(r * {1}) + {2};\n"
      "  return static_cast<result_t>(static_cast<int>(at_most(r >= {3} ? r : {3}, {4})));\n}}\n",
      type_name(rounding->type), number(1 / rounding->by.scale),
      number(static_cast<float>(rounding->by.zero)), number(least), number(least + 255));
}

std::string for_results(std::string expressions, DType result) {
  if (result != DType::f16 && result != DType::bf16) return expressions;
  constexpr std::string_view exact = "erff(", short_one = "erf_of_halves(";
  for (std::size_t at = expressions.find(exact); at != std::string::npos;
       at = expressions.find(exact, at + short_one.size()))
    expressions.replace(at, exact.size(), short_one);
  return expressions;
}

} // namespace lanner::cuda
