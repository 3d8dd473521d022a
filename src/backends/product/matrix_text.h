#pragma once
// The fixed parts of matrix_source.h's kernels.

namespace lanner::cuda {

/// Behind the constants of a problem: how tiles come into shared memory.
extern const char* const matrix_loads;
/// Behind struct A or the images of a convolution.
extern const char* const matrix_rows;
extern const char* const matrix_images;
/// The kernel behind its parameters: which tile of the result a block has, where its pieces lie.
extern const char* const matrix_begin;
extern const char* const matrix_epilogue;
/// Behind `read_unit`, which begins to read what steps need of a unit: the products, by warps, by groups of
/// four warps, or by each thread.
extern const char* const warp_products;
extern const char* const group_products;
extern const char* const scalar_products;
/// Up to where a piece of a row is finished, and what follows.
extern const char* const matrix_units;
extern const char* const matrix_end;

} // namespace lanner::cuda
