#pragma once
// Whether float constants may be combined: real arithmetic is associative, float arithmetic only as long as
// nothing overflows or underflows and no sum rounds on purpose.

#include <lanner/dtype.h>

namespace lanner::passes {

/// Whether `number` is far from overflow: at most about the root of the largest. This and all functions below
/// return false for types other than f16, bf16, f32 and f64.
bool is_moderate_size(double number, DType type);

/// Whether scaling by `factor` ahead of time leaves ordinary numbers as they would have been: it is zero, or
/// it and its reciprocal are of moderate size.
bool is_moderate_factor(double factor, DType type);

/// Whether adding `term` keeps the fraction of ordinary numbers. A larger term is there to round them, as x +
/// 1.5 * 2^23 - 1.5 * 2^23 does in f32.
bool is_moderate_term(double term, DType type);

/// Whether x * a * b may be x * (a * b).
bool joins_as_product(double a, double b, DType type);

/// Whether x + a + b may be x + (a + b): the sum is exact, and neither term rounds digits that the other one
/// keeps.
bool joins_as_sum(double a, double b, DType type);

/// Whether `number` is zero, or finite and not subnormal in `type`.
bool is_normal_or_zero(double number, DType type);

} // namespace lanner::passes
