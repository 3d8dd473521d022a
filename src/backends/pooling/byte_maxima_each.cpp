// Compiled once for each instruction set.

#include <type_traits>

#include "backends/cpu/simd.h"
#include "backends/pooling/byte_maxima.h"

namespace lanner {
namespace LANNER_SIMD {
namespace {

// Vectors of 64 bytes would need AVX512BW.
constexpr std::int64_t width_of_bytes = LANNER_SIMD_BYTES < 32 ? 16 : 32;
using SignedBytes = std::int8_t __attribute__((vector_size(width_of_bytes)));
using UnsignedBytes = std::uint8_t __attribute__((vector_size(width_of_bytes)));

template<typename T>
struct Bytes {
  static constexpr std::int64_t width = width_of_bytes;
  using V = std::conditional_t<std::is_signed_v<T>, SignedBytes, UnsignedBytes>;

  static V load(const std::uint8_t* from) {
    V value;
    std::memcpy(&value, from, sizeof(V));
    return value;
  }
  static V larger(V a, V b) { return a > b ? a : b; }
};

template<typename T>
T at(const std::uint8_t* row, std::int64_t i) {
  return static_cast<T>(row[i]);
}

template<typename T>
void maxima(const std::uint8_t* const* rows, std::int64_t count, std::uint8_t* out, std::int64_t size) {
  using B = Bytes<T>;
  std::int64_t i = 0;
  for (; i + 2 * B::width <= size; i += 2 * B::width) {
    auto a = B::load(rows[0] + i), b = B::load(rows[0] + i + B::width);
    for (std::int64_t r = 1; r < count; ++r) {
      a = B::larger(a, B::load(rows[r] + i));
      b = B::larger(b, B::load(rows[r] + i + B::width));
    }
    std::memcpy(out + i, &a, sizeof(a));
    std::memcpy(out + i + B::width, &b, sizeof(b));
  }
  for (; i + B::width <= size; i += B::width) {
    auto a = B::load(rows[0] + i);
    for (std::int64_t r = 1; r < count; ++r) a = B::larger(a, B::load(rows[r] + i));
    std::memcpy(out + i, &a, sizeof(a));
  }
  for (; i < size; ++i) {
    T most = at<T>(rows[0], i);
    for (std::int64_t r = 1; r < count; ++r) most = at<T>(rows[r], i) > most ? at<T>(rows[r], i) : most;
    out[i] = static_cast<std::uint8_t>(most);
  }
}

} // namespace
} // namespace LANNER_SIMD

ByteMaximaFunctions LANNER_FOR_ISA(byte_maxima)() {
  return {LANNER_SIMD::maxima<std::int8_t>, LANNER_SIMD::maxima<std::uint8_t>};
}

} // namespace lanner
