#pragma once
// Transposes square tiles of 8- and 16-bit elements in registers.

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace lanner {

/// Rows and columns of a tile: one 16-byte register per row.
template<typename T>
inline constexpr std::int64_t tile_side = 16 / sizeof(T);

namespace detail {

using Bytes16 = std::uint8_t __attribute__((vector_size(16)));
using Words8 = std::uint16_t __attribute__((vector_size(16)));

inline Bytes16 low_pairs(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline Bytes16 high_pairs(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
inline Words8 low_pairs(Words8 a, Words8 b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline Words8 high_pairs(Words8 a, Words8 b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

} // namespace detail

/// to[i * to_stride + j] = from[i + j * from_stride] for i and j below tile_side<T>; T has 1 or 2 bytes.
template<typename T>
void transpose_tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  using Register = std::conditional_t<sizeof(T) == 1, detail::Bytes16, detail::Words8>;
  constexpr int side = static_cast<int>(tile_side<T>), half = side / 2;
  Register rows[side], paired[side];
  // Unrolled, so that rows are registers.
#pragma GCC unroll 16
  for (int i = 0; i < side; ++i) std::memcpy(rows + i, from + i * from_stride, sizeof(Register));
#pragma GCC unroll 4
  for (int step = 1; step < side; step *= 2) { // each interleaves the tile's halves
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) {
      paired[2 * i] = detail::low_pairs(rows[i], rows[i + half]);
      paired[2 * i + 1] = detail::high_pairs(rows[i], rows[i + half]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i) rows[i] = paired[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < side; ++i) std::memcpy(to + i * to_stride, rows + i, sizeof(Register));
}

} // namespace lanner
