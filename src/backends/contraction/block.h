#pragma once
// The inner loops of products of bytes and of bf16, for each instruction set.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lanner {

inline constexpr std::int64_t cache_line = 64; ///< Bytes.

constexpr std::int64_t quotient_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
constexpr std::int64_t rounded_up(std::int64_t a, std::int64_t b) {
  return quotient_up(a, b) * b;
}

/// A block of sums: up to BlockFunctions::max_rows rows by `width` columns. Each step along the depth takes
/// four bytes of each row and `unit` numbers of each column of the panel, which are neighbours. Sums of bf16
/// are f32.
struct BlockProduct {
  const std::byte* rows; ///< As BlockFunctions::widen writes them, `row_bytes` apart.
  std::int64_t row_bytes;
  /// Functions with tiles: rows of a tile, as begin() was told, and what is between the first rows of two.
  int tile_rows;
  std::int64_t tile_distance;
  const std::byte* panel; ///< For each of the lines `steps` times BlockFunctions::step_bytes().
  std::int64_t steps;
  /// A row is so many parts of `steps` each, `line_bytes` apart. Functions without tiles take one.
  std::int64_t lines, line_bytes;
  const std::int32_t* start; ///< What each column's sum begins with: the bits of a float where sums are f32.
  std::int32_t* sums;        ///< Rows are `sums_stride` numbers apart.
  std::int64_t sums_stride;
  bool half; ///< Only the first half of the columns is wanted.
  /// What later products read: functions with tiles fetch `ahead_step` bytes of it into L2 in each step of
  /// tiles. It may lie beyond the weights' end.
  const std::byte* ahead;
  std::int64_t ahead_step; ///< A multiple of a cache line.
};
using BlockMultiply = void (*)(const BlockProduct& product, int rows);

/// A rounding on the way to bytes: x becomes the nearest integer, clamped to [low, high], times scale, plus
/// shift.
struct InnerRounding {
  float low, high, scale, shift;
};

/// What makes results out of sums: sum * multiplier + bias of its column, and then
/// - f32: clamped to [low, high], which NaN passes; they may overwrite the sums;
/// - bf16: the sum, whatever multiplier and bias are, plus added, of bf16 too, where there is an added value,
///   clamped likewise, rounded to the nearest;
/// - i8, u8: rounded by `inner` where that is given, plus added * added_scale where there is an added value,
///   rounded to the nearest integer, ties to even, plus zero, clamped to [least, most], which are of that
///   type. Before `zero` they must be within rounding_bound.
/// Sums, multipliers and biases are padded to whole multiples of BlockFunctions::width.
struct BlockFinish {
  std::int64_t rows, columns;
  std::int64_t sums_stride;
  const float *multiplier, *bias;
  const std::byte* added; ///< `added_stride` bytes from row to row; null: none.
  std::int64_t added_stride;
  bool added_signed;
  float added_scale;
  const InnerRounding* inner = nullptr;
  float low, high;
  std::int32_t zero, least, most;
  bool is_signed; ///< The results are i8.
  std::byte* out;
  std::int64_t out_stride; ///< In bytes.
};

/// Numbers below this become integers without a check.
inline constexpr double rounding_bound = 2e9;

/// One row of pixels of a depthwise convolution, for `width` channels: sums of products of floats that hold
/// integers, which are exact.
struct DepthwiseRow {
  const float* const* rows; ///< `kernel_height` rows of pixels of `width` numbers each.
  const float* weights;     ///< `width` for each tap.
  std::int64_t kernel_height, kernel_width;
  std::int64_t dilation, stride; ///< In numbers of a row.
  std::int64_t pixels;
  float* sums; ///< `width` for each pixel.
};

/// Bytes of `pixels` pixels with up to `width` channels each.
struct BytePixels {
  const std::byte* from;
  std::int64_t stride; ///< Bytes from pixel to pixel.
  std::int64_t pixels, channels;
  bool is_signed;
  int zero;
};

/// Runs of bytes that become parts of rows, each `to_stride` behind the one before it. Of 4 to a step: i8 are
/// shifted by 128, and the zero point remains; bf16 is copied. What is behind a run in its last step becomes
/// 0.
struct RowRuns {
  const std::byte* from;
  std::int64_t from_stride;
  const std::byte* end; ///< Bytes from here on are not read.
  std::int64_t bytes;   ///< Of a run.
  std::int64_t runs;
  bool is_signed;
  int zero;
  std::byte* to;
  std::int64_t to_stride;
};
/// Bytes behind a run that BlockFunctions::widen may write.
inline constexpr std::int64_t row_slack = 64;

/// The configuration of AMX's tile registers, which other code of the thread may count on.
struct TileState {
  alignas(64) std::byte bytes[64];
};

/// One instruction set's functions.
struct BlockFunctions {
  std::string_view name;
  /// Numbers of a column in one step: 2, and rows are numbers of 16 bits less their zero point, or bf16; or
  /// 4, and rows are bytes from 0 to 255.
  std::int64_t unit;
  std::int64_t element = 1; ///< Bytes of a number of x and of the weights: 2 of bf16.
  std::int64_t width;       ///< Columns of a panel.
  int max_rows;
  std::int64_t whole_steps = 1; ///< Rows and panels are padded with zeros to a multiple of so many steps.
  /// Rows up to the next multiple of a tile's are read, whatever they hold, and their sums written: of this,
  /// where begin() is told nothing else.
  int whole_rows = 1;
  BlockMultiply multiply_signed, multiply_unsigned; ///< For panels of i8 and of u8; null: not needed.
  /// Called by a thread before its first product and behind its last one; null where nothing is to be done.
  /// `rows`: of a tile, up to `whole_rows`.
  void (*begin)(TileState& saved, int rows) = nullptr;
  void (*end)(const TileState& saved) = nullptr;
  void (*widen)(const RowRuns& runs);
  /// Takes zero * row_sum off the sums of a row, of each column; whole panels.
  void (*take_zeros)(const std::int32_t* zeros, std::int32_t row_sum, std::int64_t columns,
                     std::int32_t* sums);
  void (*finish_f32)(const std::int32_t* sums, const BlockFinish& finish);
  void (*finish_bytes)(const std::int32_t* sums, const BlockFinish& finish);
  void (*finish_depthwise_f32)(const float* sums, const BlockFinish& finish);
  void (*finish_depthwise_bytes)(const float* sums, const BlockFinish& finish);
  void (*finish_bf16)(const float* sums, const BlockFinish& finish);
  /// Bytes of results: from / scale, rounded, plus zero, clamped to [least, most]; NaN becomes `least`. Reads
  /// `finish` but for multiplier, bias and added.
  void (*quantise)(const float* from, float scale, const BlockFinish& finish);
  /// out = (from - zero) * scale.
  void (*dequantise)(const std::byte* from, std::int64_t count, bool is_signed, float zero, float scale,
                     float* out);
  void (*depthwise)(const DepthwiseRow& row);
  /// out = from - zero, `width` numbers for each pixel: zeros behind the channels.
  void (*to_floats)(const BytePixels& pixels, float* out);

  bool quads() const { return unit == 4; }
  bool sums_floats() const { return element == 2; }
  std::int64_t step_bytes() const { return unit * element * width; } ///< Of a panel.
  /// Quads take weights of u8 less 128.
  BlockMultiply multiply(bool signed_weights) const {
    return signed_weights || quads() ? multiply_signed : multiply_unsigned;
  }
};

/// The best functions of this processor that need no tiles; `quads`: those may be quads.
const BlockFunctions& int8_functions(bool quads);
/// Those by tiles; null where the processor has none.
const BlockFunctions* int8_tile_functions();
/// For bf16: by tiles alone; null where the processor has none.
const BlockFunctions* bf16_tile_functions();
/// All that this processor can run, the best last: for tests, and to find those that a plan names.
std::span<const BlockFunctions* const> all_int8_functions();
std::span<const BlockFunctions* const> all_bf16_functions();

// One set for each instruction set: pairs, quads by VNNI, and tiles of quads by AMX. The baseline's quads and
// tiles are plain loops that show in tests what VNNI and AMX do.
const BlockFunctions& int8_pairs_baseline();
const BlockFunctions& int8_pairs_avx2();
const BlockFunctions& int8_pairs_avx512();
const BlockFunctions& int8_quads_baseline();
const BlockFunctions& int8_quads_avx2();
const BlockFunctions& int8_quads_avx512();
const BlockFunctions& int8_tiles_baseline();
const BlockFunctions& int8_tiles_avx512();
const BlockFunctions& bf16_tiles_baseline();
const BlockFunctions& bf16_tiles_avx512();

} // namespace lanner
