#pragma once
// How ranges that users give join those of a calibration.

#include <lanner/calibration.h>

namespace lanner {

/// The ranges of `user`, and of `calibrated` those of the tensors that `user` lacks.
CalibrationTable merged(const CalibrationTable& user, const CalibrationTable& calibrated);

} // namespace lanner
