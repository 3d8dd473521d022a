#pragma once
// CUDA C++ source of a network's first convolution, of images of up to four channels, on tensor cores.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/product/matrix_source.h"

namespace lanner::cuda {

/// A 2-D convolution of images with up to four channels, which are read in the memory order that they have.
/// The result is stored channels last.
struct Stem {
  DType image = DType::f16; ///< Type of the image's elements in memory, rounded to `type`: f32, or `type`.
  DType type = DType::f16;  ///< Of products and of a result that is not rounded: f16 or bf16. Sums are f32.
  std::int64_t batch = 0, channels = 0, filters = 0;
  std::int64_t size[2] = {}, result[2] = {}, kernel[2] = {}, strides[2] = {}, dilations[2] = {},
               begin[2] = {};
  bool channels_last = false;    ///< Of the image; otherwise it is row-major.
  std::vector<MatrixStep> steps; ///< Operands are scalars, or have an element per filter.
  std::optional<ByteRounding> rounding = std::nullopt; ///< Of the result, behind the steps.

  /// A block's share of a result image: lines and columns.
  std::int64_t tile_lines() const { return 8 * lines_of_warp(); }
  static constexpr std::int64_t tile_columns = 16;
  std::int64_t lines_of_warp() const { return filters <= 64 ? 2 : 1; }
  std::int64_t tiles() const;
  std::int64_t shared_bytes() const;
  /// Blocks of a multiprocessor, as far as shared memory has room: registers are limited for them.
  std::int64_t blocks_each() const { return filters <= 32 ? 3 : 2; }
};

inline constexpr unsigned stem_block = 256; ///< Threads of a block; blocks take tiles until none is left.

/// Whether the filters and a block's part of the image fit into `shared` bytes of a block.
bool stem_fits(const Stem& stem, std::int64_t shared);

/// `stem(image, weights, [operands of the steps...,] result)`: pointers. Weights are row-major and of `type`.
std::string stem_source(const Stem& stem);

} // namespace lanner::cuda
