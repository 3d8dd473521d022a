#pragma once
// The inner loops of products of bytes, for each instruction set.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lanner {

/// A block of sums: up to Int8Functions::max_rows rows by `width` columns. Each step along the depth takes
/// four bytes of each row and `unit` numbers of each column of the panel, which are neighbours.
struct Int8Product {
  const std::byte* rows; ///< As Int8Functions::widen writes them, `row_bytes` apart.
  std::int64_t row_bytes;
  const std::byte* panel; ///< `steps` times `width` times `unit` bytes.
  std::int64_t steps;
  const std::int32_t* start; ///< What each column's sum begins with.
  std::int32_t* sums;        ///< Rows are `sums_stride` numbers apart.
  std::int64_t sums_stride;
  bool half; ///< Only the first half of the columns is wanted.
};
using Int8Multiply = void (*)(const Int8Product& product, int rows);

/// What makes results out of sums: sum * multiplier + bias of its column, and then
/// - f32: clamped to [low, high], which NaN passes; they may overwrite the sums;
/// - i8, u8: plus added * added_scale where there is an added value, rounded to the nearest integer, ties to
///   even, plus zero, clamped to [least, most], which are of that type. Before `zero` they must be within
///   int8_bound.
/// Sums, multipliers and biases are padded to whole multiples of Int8Functions::width.
struct Int8Finish {
  std::int64_t rows, columns;
  std::int64_t sums_stride;
  const float *multiplier, *bias;
  const std::byte* added; ///< Bytes, `added_stride` from row to row; null: none.
  std::int64_t added_stride;
  bool added_signed;
  float added_scale;
  float low, high;
  std::int32_t zero, least, most;
  bool is_signed; ///< The results are i8.
  std::byte* out;
  std::int64_t out_stride; ///< In bytes.
};

/// Numbers below this become integers without a check.
inline constexpr double int8_bound = 2e9;

/// One row of pixels of a depthwise convolution, for `width` channels: sums of products of floats that hold
/// integers, which are exact.
struct Int8Depthwise {
  const float* const* rows; ///< `kernel_height` rows of pixels of `width` numbers each.
  const float* weights;     ///< `width` for each tap.
  std::int64_t kernel_height, kernel_width;
  std::int64_t dilation, stride; ///< In numbers of a row.
  std::int64_t pixels;
  float* sums; ///< `width` for each pixel.
};

/// Bytes of `pixels` pixels with up to `width` channels each.
struct Int8Pixels {
  const std::byte* from;
  std::int64_t stride; ///< Bytes from pixel to pixel.
  std::int64_t pixels, channels;
  bool is_signed;
  int zero;
};

/// Runs of bytes that become parts of rows, each `to_stride` behind the one before it. Of 4 to a step: i8 are
/// shifted by 128, and the zero point remains. What is behind a run in its last step becomes 0.
struct Int8Runs {
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
/// Bytes behind a run that Int8Functions::widen may write.
inline constexpr std::int64_t int8_slack = 64;

/// One instruction set's functions.
struct Int8Functions {
  std::string_view name;
  /// Numbers of a column in one step: 2, and rows are numbers of 16 bits less their zero point; or 4, and
  /// rows are bytes from 0 to 255.
  std::int64_t unit;
  std::int64_t width; ///< Columns of a panel.
  int max_rows;
  Int8Multiply multiply_signed, multiply_unsigned; ///< For panels of i8 and of u8; null: not supported.
  void (*widen)(const Int8Runs& runs);
  void (*finish_f32)(const std::int32_t* sums, const Int8Finish& finish);
  void (*finish_bytes)(const std::int32_t* sums, const Int8Finish& finish);
  void (*finish_depthwise_f32)(const float* sums, const Int8Finish& finish);
  void (*finish_depthwise_bytes)(const float* sums, const Int8Finish& finish);
  /// Bytes of results: from / scale, rounded, plus zero, clamped to [least, most]; NaN becomes `least`. Reads
  /// `finish` but for multiplier, bias and added.
  void (*quantise)(const float* from, float scale, const Int8Finish& finish);
  /// out = (from - zero) * scale.
  void (*dequantise)(const std::byte* from, std::int64_t count, bool is_signed, float zero, float scale,
                     float* out);
  void (*depthwise)(const Int8Depthwise& row);
  /// out = from - zero, `width` numbers for each pixel: zeros behind the channels.
  void (*to_floats)(const Int8Pixels& pixels, float* out);

  bool quads() const { return unit == 4; }
  Int8Multiply multiply(bool signed_weights) const {
    return signed_weights ? multiply_signed : multiply_unsigned;
  }
};

/// The best functions of this processor for weights of this kind.
const Int8Functions& int8_functions(bool signed_weights);
/// All that this processor can run, the best last: for tests, and to find those that a plan names.
std::span<const Int8Functions* const> all_int8_functions();

// One set for each instruction set: pairs, and quads by VNNI. The baseline's quads are plain loops that show
// in tests what VNNI does.
const Int8Functions& int8_pairs_baseline();
const Int8Functions& int8_pairs_avx2();
const Int8Functions& int8_pairs_avx512();
const Int8Functions& int8_quads_baseline();
const Int8Functions& int8_quads_avx2();
const Int8Functions& int8_quads_avx512();

} // namespace lanner
