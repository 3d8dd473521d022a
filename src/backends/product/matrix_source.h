#pragma once
// CUDA C++ sources of products and convolutions, on tensor cores where they are of halves, compiled for their
// sizes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/dtype.h>

#include "backends/epilogue.h"
#include "ops/elementwise/formula.h"

namespace lanner::cuda {

/// Where the elements of a matrix lie.
struct MatrixPlace {
  std::int64_t leading = 0; ///< Elements from one row in memory to the next.
  bool exchanged = false;   ///< Columns of the matrix are the rows in memory.
  std::int64_t step = 0;    ///< Elements from one matrix of the batch to the next.
};

/// A convolution whose a is read out of images stored channels last: row r is position r of the result, its
/// depth goes over the taps and, within each, the channels. Two spatial axes.
struct MatrixWindow {
  std::int64_t image[2] = {1, 1}, result[2] = {1, 1}, kernel[2] = {1, 1};
  std::int64_t strides[2] = {1, 1}, dilations[2] = {1, 1}, begin[2] = {0, 0};
  std::int64_t channels = 0, pixel = 0; ///< pixel: elements from one to the next, no fewer than channels.
};

struct MatrixOperand {
  DType type = DType::f32;
  Spread spread = Spread::full;
  std::int64_t leading = 0; ///< Of Spread::full: elements from one row of the result to the next.
};
/// r = formula(r), or formula(r, operand).
struct MatrixStep {
  const Formula* formula = nullptr;
  Numbers numbers;
  std::optional<MatrixOperand> operand;
};

/// steps(a x b) of `batch` pairs of matrices; a is rows x depth, b depth x columns. Sums are kept in f32.
struct MatrixProblem {
  DType type = DType::f16; ///< Of a and b: f16, bf16 or f32, which tiles of scalars multiply.
  DType result = DType::f16;
  std::int64_t batch = 1, rows = 0, columns = 0, depth = 0;
  MatrixPlace a, b;
  std::optional<MatrixWindow> window; ///< `a` is then of images, and its place says nothing.
  std::int64_t leading = 0;           ///< Of the result's rows.
  /// Results of a batch share rows, their columns side by side, as those of a convolution's groups do. Else
  /// they follow each other.
  bool side_by_side = false;
  std::vector<MatrixStep> steps;

  double operations() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(depth);
  }
};

/// What a block of warps computes, and how.
struct MatrixTile {
  std::int64_t rows = 128, columns = 128, depth = 32; ///< Of the depth at a time.
  std::int64_t stages = 4;                            ///< Tiles of a and b in shared memory at once.
  std::int64_t warps[2] = {2, 2};                     ///< That share rows, and columns.
  /// Four warps multiply together by wgmma, which compute capability 9.0 has: depth is 64, columns are not
  /// shared, a is not exchanged, and b is or columns are a multiple of 64.
  bool groups = false;
  bool scalars = false; ///< Of f32: threads multiply by themselves, without tensor cores.

  std::int64_t threads() const { return warps[0] * warps[1] * 32; }
  std::string name() const; ///< `128x128x32s4`, `128x128x64s4g` of groups, `128x128x16s4f` of scalars.
};

/// A problem, its tile, and into how many parts the depth is split: each part gives sums of its own, which a
/// second kernel adds in order.
struct MatrixPlan {
  MatrixProblem problem;
  MatrixTile tile;
  std::int64_t split = 1;

  std::int64_t blocks() const;
  std::int64_t shared_bytes() const;
  std::size_t workspace() const; ///< Bytes of the parts' sums.
  std::int64_t join_blocks() const;
  static constexpr int join_threads = 256;
};

/// Kernels `matrix`(a, b, operands of the steps in order, result) and, where the depth is split,
/// `matrix`(a, b, sums) and `join_sums`(sums, operands..., result). a, b and sums begin at multiples of 16
/// bytes. Needs compute capability 8.0, tiles of groups 9.0.
std::string matrix_source(const MatrixPlan& plan);

/// The parts of a source that speak to the GPU by instructions of its own, which tests replace. The second is
/// of groups of warps, whose tiles have so many columns.
std::string_view matrix_instructions();
std::string group_instructions(std::int64_t columns);

} // namespace lanner::cuda
