#pragma once
// Products of bytes and of bf16 by AMX's tiles: registers of 16 rows of 64 bytes. In assembly, as intrinsics
// would need all of this compiled another time for processors that have it. Source: Intel's "Architecture
// Instruction Set Extensions Programming Reference", chapter 3.

#include "backends/contraction/block_loops.h"

namespace lanner::LANNER_SIMD {

#if LANNER_SIMD_BYTES == 64 || LANNER_SIMD_BYTES == 16

inline constexpr int tile_rows = 16;           ///< At most.
inline constexpr std::int64_t tile_bytes = 64; ///< Of a row of a tile: 16 steps of rows, or 16 columns.
inline constexpr std::int64_t tile_columns = 16;
inline constexpr std::int64_t tile_steps = 16;
/// Two tiles of rows by two of columns: their sums, and what they are products of, fill the eight registers.
inline constexpr std::int64_t tiles_width = 2 * tile_columns;
inline constexpr int tiles_rows = 2 * tile_rows;

#if LANNER_SIMD_BYTES == 64

/// Registers 0 to 5 as so many rows of 64 bytes, and those of columns as 16.
inline void begin_tiles(TileState& saved, int rows) {
  asm volatile("sttilecfg %0" : "=m"(saved));
  TileState wanted{};
  wanted.bytes[0] = std::byte{1}; // The palette.
  for (int tile = 0; tile < 8; ++tile) {
    wanted.bytes[16 + 2 * tile] = std::byte{tile_bytes};
    wanted.bytes[48 + tile] = static_cast<std::byte>(tile < 6 ? rows : tile_steps);
  }
  asm volatile("ldtilecfg %0" : : "m"(wanted));
}
inline void end_tiles(const TileState& saved) {
  if (saved.bytes[0] == std::byte{0})
    asm volatile("tilerelease");
  else
    asm volatile("ldtilecfg %0" : : "m"(saved));
}

#define LANNER_LOAD_TILE(tile, from, stride)                                                                 \
  asm volatile("tileloadd (%0,%1,1), %%tmm" tile                                                             \
               :                                                                                             \
               : "r"(from), "r"(static_cast<std::int64_t>(stride))                                           \
               : "memory")
#define LANNER_STORE_TILE(tile, to, stride)                                                                  \
  asm volatile("tilestored %%tmm" tile ", (%0,%1,1)"                                                         \
               :                                                                                             \
               : "r"(to), "r"(static_cast<std::int64_t>(stride))                                             \
               : "memory")
#define LANNER_MULTIPLY_TILES(sums, rows, columns)                                                           \
  if constexpr (bytes)                                                                                       \
    asm volatile("tdpbusd %%tmm" columns ", %%tmm" rows ", %%tmm" sums : :);                                 \
  else                                                                                                       \
    asm volatile("tdpbf16ps %%tmm" columns ", %%tmm" rows ", %%tmm" sums : :)

/// Sums in registers 0 to 3, rows in 4 and 5, columns in 6 and 7.
template<bool bytes, bool two_rows, bool two_columns>
void multiply_by_tiles(const BlockProduct& p) {
  const std::int64_t sums_bytes = 4 * p.sums_stride, second = p.tile_rows * p.sums_stride;
  constexpr std::int64_t step_bytes = 4 * tiles_width, panel_bytes = tile_steps * step_bytes;
  constexpr int into_l2 = 2;
  LANNER_LOAD_TILE("0", p.start, 0);
  if constexpr (two_columns) LANNER_LOAD_TILE("1", p.start + tile_columns, 0);
  if constexpr (two_rows) LANNER_LOAD_TILE("2", p.start, 0);
  if constexpr (two_rows && two_columns) LANNER_LOAD_TILE("3", p.start + tile_columns, 0);
  const std::byte *rows = p.rows, *line = p.rows, *panel = p.panel, *ahead = p.ahead;
  std::int64_t left = p.steps;
  for (std::int64_t step = 0; step < p.lines * p.steps; step += tile_steps) {
    for (std::int64_t i = 0; i < p.ahead_step; i += cache_line) __builtin_prefetch(ahead + i, 0, into_l2);
    ahead += p.ahead_step;
    LANNER_LOAD_TILE("6", panel, step_bytes);
    LANNER_LOAD_TILE("4", rows, p.row_bytes);
    LANNER_MULTIPLY_TILES("0", "4", "6");
    if constexpr (two_columns) {
      LANNER_LOAD_TILE("7", panel + tile_bytes, step_bytes);
      LANNER_MULTIPLY_TILES("1", "4", "7");
    }
    if constexpr (two_rows) {
      LANNER_LOAD_TILE("5", rows + p.tile_distance, p.row_bytes);
      LANNER_MULTIPLY_TILES("2", "5", "6");
    }
    if constexpr (two_rows && two_columns) {
      LANNER_MULTIPLY_TILES("3", "5", "7");
    }
    rows += tile_bytes;
    panel += panel_bytes;
    left -= tile_steps;
    if (left == 0) {
      rows = line += p.line_bytes;
      left = p.steps;
    }
  }
  LANNER_STORE_TILE("0", p.sums, sums_bytes);
  if constexpr (two_columns) LANNER_STORE_TILE("1", p.sums + tile_columns, sums_bytes);
  if constexpr (two_rows) LANNER_STORE_TILE("2", p.sums + second, sums_bytes);
  if constexpr (two_rows && two_columns) LANNER_STORE_TILE("3", p.sums + second + tile_columns, sums_bytes);
}

#undef LANNER_LOAD_TILE
#undef LANNER_STORE_TILE
#undef LANNER_MULTIPLY_TILES

template<bool bytes>
void multiply_tiles(const BlockProduct& p, int rows) {
  if (rows > p.tile_rows)
    p.half ? multiply_by_tiles<bytes, true, false>(p) : multiply_by_tiles<bytes, true, true>(p);
  else
    p.half ? multiply_by_tiles<bytes, false, false>(p) : multiply_by_tiles<bytes, false, true>(p);
}

inline constexpr const char* tiles_name = "amx";
inline constexpr void (*tiles_begin)(TileState&, int) = begin_tiles;
inline constexpr void (*tiles_end)(const TileState&) = end_tiles;

#else

/// The sum of one row and one column, from what it begins with: as wide as a start, which holds its bits.
template<bool bytes>
std::int32_t sum_by_tiles(const BlockProduct& p, const std::byte* row, std::int64_t column) {
  const std::int32_t start = p.start[column];
  std::conditional_t<bytes, std::uint32_t, float> sum;
  std::memcpy(&sum, &start, sizeof(sum));
  for (std::int64_t step = 0; step < p.lines * p.steps; ++step) {
    const std::byte* x = row + step / p.steps * p.line_bytes + 4 * (step % p.steps);
    const std::byte* w = p.panel + 4 * (tiles_width * step + column);
    if constexpr (bytes) {
      for (int i = 0; i < 4; ++i)
        sum += static_cast<std::uint32_t>(static_cast<int>(x[i]) *
                                          static_cast<int>(static_cast<std::int8_t>(w[i])));
    } else {
      Bf16 left[2], right[2];
      std::memcpy(left, x, sizeof(left));
      std::memcpy(right, w, sizeof(right));
      sum += widened(left[0]) * widened(right[0]) + widened(left[1]) * widened(right[1]);
    }
  }
  std::int32_t result;
  std::memcpy(&result, &sum, sizeof(sum));
  return result;
}

template<bool bytes>
void multiply_tiles(const BlockProduct& p, int rows) {
  const std::int64_t columns = p.half ? tile_columns : tiles_width;
  for (std::int64_t r = 0; r < (rows > p.tile_rows ? 2 : 1) * p.tile_rows; ++r) {
    const std::byte* const row = p.rows + r / p.tile_rows * p.tile_distance + r % p.tile_rows * p.row_bytes;
    for (std::int64_t column = 0; column < columns; ++column)
      p.sums[r * p.sums_stride + column] = sum_by_tiles<bytes>(p, row, column);
  }
}

inline constexpr const char* tiles_name = "baseline_tiles";
inline constexpr void (*tiles_begin)(TileState&, int) = nullptr;
inline constexpr void (*tiles_end)(const TileState&) = nullptr;

#endif

constexpr BlockFunctions int8_tiles() {
  BlockFunctions functions = int8_quads();
  functions.name = tiles_name;
  functions.width = tiles_width;
  functions.max_rows = tiles_rows;
  functions.whole_steps = tile_steps;
  functions.whole_rows = tile_rows;
  functions.multiply_signed = multiply_tiles<true>;
  functions.begin = tiles_begin;
  functions.end = tiles_end;
  return functions;
}

constexpr BlockFunctions bf16_tiles() {
  BlockFunctions functions = int8_tiles();
  functions.unit = 2;
  functions.element = 2;
  functions.multiply_signed = multiply_tiles<false>;
  return functions;
}

#endif

} // namespace lanner::LANNER_SIMD
