#pragma once
// Ranges that users give, and how they join those of a calibration.

#include <lanner/calibration.h>

namespace lanner {

/// The range of values from `least` to `most`. INT8 is symmetric, so its threshold is the larger magnitude of
/// the two; that of 0 to 0 is 1. The caller reports where the given range was not symmetric. Throws
/// Error{invalid_argument} for NaN, infinite values and `least` above `most`.
TensorRange symmetric_range(double least, double most);

/// Throws Error{invalid_argument} unless `range` is one that a table may hold: finite numbers in order and a
/// threshold that usable_threshold() leaves as it is.
void check_range(const TensorRange& range);

/// The ranges of `user`, and of `calibrated` those of the tensors that `user` lacks.
CalibrationTable merged(const CalibrationTable& user, const CalibrationTable& calibrated);

} // namespace lanner
