#pragma once
// The fixed parts of matrix_source.h's kernels.

namespace lanner::cuda {

/// Behind the constants of a problem: how tiles come into shared memory.
extern const char* const matrix_loads;
/// Behind struct A or the images of a convolution.
extern const char* const matrix_rows;
extern const char* const matrix_images;
/// The kernel behind its parameters, up to where a piece of a row is finished, and what follows.
extern const char* const matrix_body;
extern const char* const matrix_end;

} // namespace lanner::cuda
