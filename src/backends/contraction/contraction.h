#pragma once
// Convolutions and matrix products of 8-bit integers and of bf16 with what follows them, read from a group
// into one form.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/byte_scale.h"
#include "backends/epilogue.h"
#include "backends/family.h"
#include "backends/group.h"
#include "ops/convolution/window.h"

namespace lanner {

/// A value of i8 or u8 that a group reads, and how.
struct StoredBytes {
  Operand operand;
  ByteScale by;

  bool is_signed() const { return operand.dtype() == DType::i8; }
};

/// One elementwise step in f32: formula(result so far) or, with an operand, formula(result so far, operand).
struct ContractionStep {
  const Formula* formula = nullptr;
  Numbers numbers;
  Operand
      operand; ///< Absent, f32, or i8 or u8 where `stored` is set. With Spread::scalar: a value of the run.
  Spread spread = Spread::full;
  bool reversed = false;           ///< formula(operand, result so far).
  std::optional<ByteScale> stored; ///< The operand is dequantised by it.
  /// Without formula and operand: the result so far is quantised in this type by `stored` and dequantised
  /// again.
  std::optional<DType> rounded = std::nullopt;
};

/// `x + c`, `x - c` or `x * c` and the like as a formula of x alone; `reversed`: the operands are exchanged.
/// Nothing for other operators.
std::optional<ActivationCall> scalar_call(std::string_view kind, float c, bool reversed);

/// result = steps(sum of products of x and weights, both dequantised, + bias), quantised by `quantised`; or
/// the sums themselves as i32, for the operators on integers. Of reals: x, weights, full-size operands and
/// the result are values of f32 that are stored as bf16.
///
/// As one product of matrices: a row is a pixel of the result (of all images), or a row of it; its columns
/// are the channels; `depth` products are summed into an element.
struct Contraction {
  StoredBytes x;        ///< Its scale counts only where the result is not i32.
  Operand x_zero;       ///< Of an operator on integers, where it is a value of the run; else absent.
  Operand weights;      ///< Constant, i8, u8 or reals: OIHW, or depth x columns.
  Operand weight_scale; ///< Constants: one number or one per column. Absent for the operators on integers.
  Operand weight_zero;  ///< Likewise; absent: 0.
  Operand bias;         ///< Constants, one per column, or absent.
  std::vector<ContractionStep> steps;
  std::optional<ByteScale> quantised; ///< Of the result.
  DType type = DType::f32;            ///< Of the result: f32, i8, u8 or i32; bf16: all is of reals.
  Shape input, filter, output;
  bool conv = false;
  bool transposed = false; ///< A product's weights are columns x depth.
  std::int64_t groups = 1;
  ops::Window window; ///< Of a convolution, with two spatial axes.

  std::int64_t columns() const { return conv ? output[1] : output.back(); }
  std::int64_t group_columns() const { return columns() / groups; }
  std::int64_t rows() const { return output.elements() / columns(); }
  std::int64_t channels() const { return conv ? input[1] / groups : input.back(); } ///< Of x, of one group.
  std::int64_t depth() const { return channels() * (conv ? window.taps() : 1); }
  bool reals() const { return type == DType::bf16; }
  bool depthwise() const { return conv && groups > 1 && groups == input[1] && groups == output[1]; }
  std::size_t channel_axis() const { return conv ? 1 : output.rank() - 1; }
  double operations() const;
  bool has_signed_weights() const { return reals() || weights.dtype() == DType::i8; }
  /// Whether a column's weights have another zero point than 0.
  bool has_weight_zeros() const;
  /// Whether quads take the weights less 128: they multiply signed ones alone.
  bool shifts_weights() const { return !has_signed_weights(); }
};

/// Sums of so many products of differences of bytes, at most 255 * 255 each, fit into an i32.
inline constexpr std::int64_t max_contraction_depth = 33025;

/// The contraction around the group's `conv` or `matmul` of two `dequantize_linear`, whose operations may be
/// in any order; or that of a single `conv_integer` or `matmul_integer`. Nothing for other groups (then
/// `reason` stays empty) and where it is not supported. `conv`: which of the two kinds is asked for.
std::optional<Contraction> contraction_of(const Group& group, bool conv, std::string& reason);

/// The same for a group that begins with a `conv` or a product of reals, with constant weights. `type`: bf16.
std::optional<Contraction> real_contraction_of(const Group& group, bool conv, std::string& reason);

/// Sets `c`'s shapes, and the window of a convolution; false, with `reason` set, where they are not
/// supported.
bool read_contraction_shapes(const GroupOp& op, bool conv, Contraction& c, std::string& reason);

/// Whether a step may take one number that only the run gives, as scalar_call() makes it: the bounds of `min`
/// and `max` would lose a NaN, and a quotient's reciprocal may overflow.
bool takes_run_time_number(const Formula& formula);

/// Makes a first step that adds a constant per channel the bias, where there is none.
void take_bias(Contraction& c);

/// The elements of a constant of one number or `count` numbers as `count` doubles; zeros where it is absent.
/// `given`: the constant where it is not the operand's own.
std::vector<double> column_numbers(const Operand& operand, std::int64_t count, const Tensor* given = nullptr);

/// The elements of a contraction's constant operand at prepare().
const Tensor* prepared_constant(const Operand& operand, const Preparation& preparation);

/// Distance in elements between neighbouring rows of an input or result with so many columns, which may be
/// within a larger one.
std::int64_t row_distance(const Storage& storage, std::int64_t columns);

} // namespace lanner
