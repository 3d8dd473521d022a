#pragma once
// CUDA C++ sources of matrix products and convolutions, on tensor cores for f16, bf16 and bytes, specialised
// for their sizes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/dtype.h>

#include "backends/byte_scale.h"
#include "backends/epilogue.h"
#include "device/cuda/tensor_map.h"
#include "ops/elementwise/formula.h"

namespace lanner::cuda {

/// Memory layout of a matrix.
struct OperandLayout {
  std::int64_t leading = 0; ///< Elements between rows in memory.
  bool exchanged = false;   ///< Stored transposed: columns of the matrix are contiguous.
  std::int64_t step = 0;    ///< Elements between matrices of the batch.
};

/// An implicit convolution whose a is read from channels-last images: row r is position r of the result, its
/// depth runs over the taps and, within each, the channels. Two spatial axes.
struct MatrixWindow {
  std::int64_t image[2] = {1, 1}, result[2] = {1, 1}, kernel[2] = {1, 1};
  std::int64_t strides[2] = {1, 1}, dilations[2] = {1, 1}, begin[2] = {0, 0};
  std::int64_t channels = 0, pixel = 0; ///< pixel: elements between pixels, at least `channels`.
};

struct MatrixOperand {
  DType type = DType::f32;
  Spread spread = Spread::full;
  std::int64_t leading = 0; ///< Of Spread::full: elements between rows of the result.
  /// The element that is read stands for another number. Scales and zero points are numbers of the launch, so
  /// that layers of the same sizes share a kernel.
  std::optional<ByteScale> stored = std::nullopt;
};
/// r = formula(r), or formula(r, operand).
struct MatrixStep {
  const Formula* formula = nullptr;
  Numbers numbers;
  std::optional<MatrixOperand> operand;
  bool reversed = false; ///< r = formula(operand, r).
  /// Set, without a formula: r is rounded to a byte, and is then the number that this byte stands for.
  std::optional<ByteRounding> rounding = std::nullopt;
};
/// What a product of bytes is about. The steps begin with r = sum * multiplier + offset, two numbers for each
/// column; a result of i32 is the sums themselves.
struct MatrixBytes {
  DType b = DType::i8; ///< Of b's elements; those of a are less a zero point.
  int padding = 0;     ///< A's zero point, around images. Offsets are for the zero point otherwise.
  std::optional<DType> zero_type; ///< Set: the zero point is a value of the run, of this type.
  bool corrected = false;         ///< Of sums as results: an i32 for each column is subtracted.
};

/// steps(a x b) for `batch` pairs of matrices; a is rows x depth, b depth x columns. Sums are f32, of bytes
/// i32.
struct MatrixProblem {
  /// Of a and b: f16, bf16, or f32, which is multiplied by scalar tiles; or i8 or u8: of a, with `bytes` set.
  /// Products of bytes are counted in pairs, which kernels copy as they do elements of 16 bits: the depth,
  /// and the distances, channels and pixels of a and b. b is stored transposed, a is not.
  DType type = DType::f16;
  std::optional<MatrixBytes> bytes = std::nullopt;
  DType result = DType::f16; ///< i8 or u8 with `rounding`; i32: the sums of a product of bytes.
  std::optional<ByteRounding> rounding = std::nullopt; ///< Of the result, after the steps.
  std::int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  OperandLayout a, b;
  bool constant_b = false; ///< b is not written by kernels, so that it may be read before earlier ones end.
  std::optional<MatrixWindow> window; ///< When set, a is an image and `a`'s layout is unused.
  std::int64_t leading = 0;           ///< Of the result's rows.
  /// Results of a batch share rows, with their columns side by side, as for a convolution's groups. Otherwise
  /// they follow each other.
  bool side_by_side = false;
  std::vector<MatrixStep> steps;

  double operations() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(depth);
  }
};

/// The work of a block, and how it is done.
struct MatrixTile {
  std::int64_t rows = 128, columns = 128, depth = 32; ///< depth: elements of the depth per step.
  std::int64_t stages = 4;                            ///< Tiles of a and b in shared memory at once.
  std::int64_t warps[2] = {2, 2};                     ///< Number of warps along rows, and along columns.
  /// Four warps multiply together by wgmma, which needs compute capability 9.0: depth is 64, warps do not
  /// split columns, a is not transposed, and b is or columns are a multiple of 64.
  bool groups = false;
  bool scalars = false; ///< For f32: threads multiply without tensor cores.
  /// With `groups`: one warp copies a and b through tensor maps (TMA) while two groups of four warps
  /// multiply, and blocks go on to further tiles, whose copies begin while the last one is written.
  bool bulk = false;
  /// With `bulk`: the two groups work on tiles of their own, so that one multiplies while the other writes.
  /// `warps` are those of a tile.
  bool alternating = false;

  std::int64_t threads() const { return bulk ? 3 * 128 : warps[0] * warps[1] * 32; }
  /// `128x128x32s4`; `128x128x64s4g` for warp groups, `t` with tensor maps, `a` where these alternate;
  /// `128x128x16s4f` for scalars.
  std::string name() const;
};

/// A problem, its tile, and the number of parts that the depth is split into (split-K): each part gives
/// partial sums, which a second kernel adds in order.
struct MatrixPlan {
  MatrixProblem problem;
  MatrixTile tile;
  std::int64_t split = 1;

  std::int64_t tiles() const;
  /// Blocks to launch on a GPU with so many multiprocessors.
  std::int64_t blocks(std::int64_t multiprocessors) const;
  std::int64_t shared_bytes() const;
  std::size_t workspace() const; ///< Bytes of the partial sums.
  std::int64_t join_blocks() const;
  static constexpr int join_threads = 256;
};

/// Kernels `matrix`(a, b, operands of the steps in order, result) and, where the depth is split, `matrix`(a,
/// b, sums) and `join_sums`(sums, operands..., result). Of bytes there stand before the operands: multipliers
/// and offsets, where the result is not the sums; in i32 what is subtracted from sums, or sums of b's columns
/// and the zero point, where that is a value of the run; and before the result the numbers, if any. a, b and
/// sums are aligned to 16 bytes. With `tile.bulk`, tensor maps of a, of b and, where there is one, of the
/// staged operand stand in the place of a and b, passed by value. Needs compute capability 8.0, tiles of warp
/// groups 9.0.
std::string matrix_source(const MatrixPlan& plan);

/// The scales and zero points of the steps and the rounding, in the order in which a kernel uses them: its
/// parameter is a struct of so many floats.
std::vector<float> matrix_numbers(const MatrixProblem& problem);

/// Bytes of an element as the depth counts them: of products of bytes, of a pair.
std::int64_t element_bytes(DType type);
/// Elements of this type that a copy into shared memory moves at most: 16 bytes.
std::int64_t most_copied(DType type);
/// Channels of a pixel that one copy moves, of a problem with a window.
std::int64_t copied_channels(const MatrixProblem& problem);

/// Whether the memory of a and b can be described by tensor maps: packs of 16 bytes, and a depth that no tap
/// of a window shares with the next.
bool takes_tensor_maps(const MatrixProblem& problem);

/// The boxes that a bulk plan copies.
TensorBoxes boxes_of_a(const MatrixPlan& plan);
TensorBoxes boxes_of_b(const MatrixPlan& plan);

/// The step of a bulk plan whose operand of the result's shape is copied by a tensor map too, ahead of its
/// use; nothing where no operand fits a stage.
std::optional<std::size_t> staged_step(const MatrixPlan& plan);
/// Bytes of an element of that operand: 1 or 2, 0 without one.
std::int64_t staged_bytes(const MatrixPlan& plan);
TensorBoxes boxes_of_staged(const MatrixPlan& plan);

/// The parts of a source with GPU-specific instructions: copies and fragments, the products of a warp, and
/// those of warp groups, whose tiles have so many columns. They follow the types element_t and sum_t.
std::string_view matrix_instructions();
std::string_view warp_multiply(bool bytes);
std::string group_instructions(std::int64_t columns, bool bytes);
std::string_view bulk_instructions();

} // namespace lanner::cuda
