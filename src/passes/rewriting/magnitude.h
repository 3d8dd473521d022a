#pragma once
// Whether constants of a float type may be taken together: real arithmetic is associative, that of floats is
// so only while nothing overflows or underflows and no sum rounds on purpose.

#include <lanner/dtype.h>

namespace lanner::passes {

/// Whether `number` is far from overflow: at most about the root of the largest. False for types other than
/// f16, bf16, f32 and f64, as with all that follow.
bool is_moderate_size(double number, DType type);

/// Whether scaling by `factor` ahead of time leaves numbers of ordinary size what they would have been: it is
/// zero, or it and its reciprocal are of moderate size.
bool is_moderate_factor(double factor, DType type);

/// Whether adding `term` keeps the fraction of ordinary numbers. A larger one is there to round them, as
/// x + 1.5 * 2^23 - 1.5 * 2^23 does in f32.
bool is_moderate_term(double term, DType type);

/// Whether x * a * b may be x * (a * b).
bool joins_as_product(double a, double b, DType type);

/// Whether x + a + b may be x + (a + b): the sum is exact, and neither rounds what the other would add.
bool joins_as_sum(double a, double b, DType type);

/// Whether `number` is zero, or finite and not subnormal in `type`.
bool is_normal_or_zero(double number, DType type);

} // namespace lanner::passes
