// Compiled once for each instruction set.

#include "backends/cpu/simd.h"
#include "backends/pooling/maxima.h"

namespace lanner {
namespace LANNER_SIMD {
namespace {

// Vectors of 64 bytes of small elements would need AVX512BW.
constexpr std::int64_t short_vector = LANNER_SIMD_BYTES < 32 ? 16 : 32;
using SignedBytes = std::int8_t __attribute__((vector_size(short_vector)));
using UnsignedBytes = std::uint8_t __attribute__((vector_size(short_vector)));
using Shorts = std::int16_t __attribute__((vector_size(short_vector)));

/// Elements that compare as they are.
template<typename Element, typename Vector>
struct Plain {
  using T = Element;
  using V = Vector;
  static V key(V x) { return x; }
  static V larger(V a, V b) { return a > b ? a : b; }
  static V element(V key) { return key; }
  static T key(T x) { return x; }
  static T larger(T a, T b) { return a > b ? a : b; }
  static T element(T key) { return key; }
};

/// Bits of bf16 as integers that compare as the numbers do: those of negative numbers are turned around, and
/// every NaN is the largest integer.
struct BrainFloats {
  using T = std::int16_t;
  using V = Shorts;
  static constexpr T all = 0x7fff, least = -0x7f81; ///< least: the key of negative infinity.
  static V key(V x) {
    const V turned = x ^ ((x >> 15) & all);
    return turned < least ? V{} + all : turned;
  }
  static V larger(V a, V b) { return a > b ? a : b; }
  static V element(V key) { return key ^ ((key >> 15) & all); }
  static T key(T x) {
    const auto turned = static_cast<T>(x ^ ((x >> 15) & all));
    return turned < least ? all : turned;
  }
  static T larger(T a, T b) { return a > b ? a : b; }
  static T element(T key) { return static_cast<T>(key ^ ((key >> 15) & all)); }
};

struct Floats : Plain<float, F> {
  static F larger(F a, F b) { return (a > b) | (a != a) ? a : b; }
  static float larger(float a, float b) { return a > b || a != a ? a : b; }
};

template<typename V>
V loaded(const std::byte* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

template<typename E>
void maxima_of_pixel(const std::byte* const* rows, std::int64_t count, std::int64_t offset, std::byte* out,
                     std::int64_t size) {
  using T = typename E::T;
  using V = typename E::V;
  const auto bytes = size * static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t width = sizeof(V);
  std::int64_t i = 0;
  for (; i + 2 * width <= bytes; i += 2 * width) {
    V a = E::key(loaded<V>(rows[0] + offset + i)), b = E::key(loaded<V>(rows[0] + offset + i + width));
    for (std::int64_t r = 1; r < count; ++r) {
      a = E::larger(a, E::key(loaded<V>(rows[r] + offset + i)));
      b = E::larger(b, E::key(loaded<V>(rows[r] + offset + i + width)));
    }
    a = E::element(a);
    b = E::element(b);
    std::memcpy(out + i, &a, sizeof(V));
    std::memcpy(out + i + width, &b, sizeof(V));
  }
  for (; i + width <= bytes; i += width) {
    V a = E::key(loaded<V>(rows[0] + offset + i));
    for (std::int64_t r = 1; r < count; ++r) a = E::larger(a, E::key(loaded<V>(rows[r] + offset + i)));
    a = E::element(a);
    std::memcpy(out + i, &a, sizeof(V));
  }
  for (; i < bytes; i += static_cast<std::int64_t>(sizeof(T))) {
    T a = E::key(loaded<T>(rows[0] + offset + i));
    for (std::int64_t r = 1; r < count; ++r) a = E::larger(a, E::key(loaded<T>(rows[r] + offset + i)));
    a = E::element(a);
    std::memcpy(out + i, &a, sizeof(T));
  }
}

template<typename E>
void maxima(const std::byte* const* rows, std::int64_t count, std::byte* out, const PixelRun& run) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(typename E::T));
  for (std::int64_t p = 0; p < run.pixels; ++p)
    maxima_of_pixel<E>(rows, count, p * run.step * bytes, out + p * run.size * bytes, run.size);
}

} // namespace
} // namespace LANNER_SIMD

MaximaFunctions LANNER_FOR_ISA(maxima)() {
  using namespace LANNER_SIMD;
  return {maxima<Plain<std::int8_t, SignedBytes>>, maxima<Plain<std::uint8_t, UnsignedBytes>>,
          maxima<BrainFloats>, maxima<Floats>};
}

} // namespace lanner
