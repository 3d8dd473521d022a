#pragma once
// The fixed text of matrix_source.h's kernels.

namespace lanner::cuda {

/// Follows the constants of a problem: the order of tiles.
extern const char* const matrix_order;
/// Copies tiles into shared memory.
extern const char* const matrix_loads;
/// Follows struct A or the images of a convolution.
extern const char* const matrix_rows;
extern const char* const matrix_images;
/// Follows the kernel's parameters: the block's tile of the result and its addresses.
extern const char* const matrix_begin;
extern const char* const matrix_epilogue;
/// Follows `read_unit`, which begins to load the steps' operands of a unit: the products, by warps, by groups
/// of four warps, or by each thread.
extern const char* const warp_products;
extern const char* const group_products;
extern const char* const scalar_products;
/// Stands before the products by groups.
extern const char* const group_lambdas;
/// With tensor maps, in place of copies and addresses; the loop over the block's tiles up to the sums of one,
/// and its end.
extern const char* const bulk_rows;
extern const char* const bulk_images;
extern const char* const bulk_begin;
extern const char* const bulk_products;
extern const char* const bulk_end;
/// For results of bytes, of type BYTE_TYPE: whole numbers as packs of them, which saturate.
extern const char* const matrix_byte_results;
/// The code up to where a piece of a row is finished, and the code after it.
extern const char* const matrix_units;
extern const char* const matrix_unit_end;

} // namespace lanner::cuda
