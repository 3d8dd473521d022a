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

/// Vectors of elements that compare as they are.
template<typename Vector>
struct Plain {
  using V = Vector;
  static V key(V x) { return x; }
  static V larger(V a, V b) { return a > b ? a : b; }
  static V element(V key) { return key; }
};

/// Bits of bf16 as integers that compare as the numbers do: those of negative numbers are turned around, and
/// every NaN is the largest integer.
struct BrainFloats : Plain<Shorts> {
  static constexpr std::int16_t all = 0x7fff, least = -0x7f81; ///< least: the key of negative infinity.
  static V key(V x) {
    const V turned = element(x);
    return turned < least ? V{} + all : turned;
  }
  static V element(V key) { return key ^ ((key >> 15) & all); }
};

struct Floats : Plain<F> {
  static F larger(F a, F b) { return (a > b) | (a != a) ? a : b; }
};

/// The first `bytes` of a vector, zeros behind them.
template<typename V>
V loaded(const std::byte* from, std::size_t bytes) {
  V value{};
  std::memcpy(&value, from, bytes);
  return value;
}

template<typename E>
void maxima_of_pixel(const std::byte* const* rows, std::int64_t count, std::int64_t offset, std::byte* out,
                     std::int64_t bytes) {
  using V = typename E::V;
  const auto fold = [&](std::int64_t at, std::size_t part) {
    V most = E::key(loaded<V>(rows[0] + offset + at, part));
    for (std::int64_t r = 1; r < count; ++r)
      most = E::larger(most, E::key(loaded<V>(rows[r] + offset + at, part)));
    most = E::element(most);
    std::memcpy(out + at, &most, part);
  };
  constexpr std::int64_t width = sizeof(V);
  std::int64_t at = 0;
  for (; at + width <= bytes; at += width) fold(at, sizeof(V));
  if (at < bytes) fold(at, static_cast<std::size_t>(bytes - at));
}

template<typename E>
void maxima(const std::byte* const* rows, std::int64_t count, std::byte* out, const PixelRun& run) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(typename E::V{}[0]));
  for (std::int64_t p = 0; p < run.pixels; ++p)
    maxima_of_pixel<E>(rows, count, p * run.step * bytes, out + p * run.size * bytes, run.size * bytes);
}

} // namespace
} // namespace LANNER_SIMD

MaximaFunctions LANNER_FOR_ISA(maxima)() {
  using namespace LANNER_SIMD;
  return {maxima<Plain<SignedBytes>>, maxima<Plain<UnsignedBytes>>, maxima<BrainFloats>, maxima<Floats>};
}

} // namespace lanner
