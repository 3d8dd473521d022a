#include "calibration/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "calibration/thresholds.h"

namespace lanner {

TensorRange symmetric_range(double least, double most) {
  check(std::isfinite(least) && std::isfinite(most) && least <= most, ErrorCode::invalid_argument,
        "range {} to {}: expected two finite numbers, the smaller one first", least, most);
  return {least, most, usable_threshold(std::max(std::abs(least), std::abs(most))), Calibrator::min_max};
}

void check_range(const TensorRange& range) {
  check(std::isfinite(range.least) && std::isfinite(range.most) && range.least <= range.most,
        ErrorCode::invalid_argument,
        "least {} and most {}: expected two finite numbers, the smaller one first", range.least, range.most);
  check(range.threshold > 0 && usable_threshold(range.threshold) == range.threshold,
        ErrorCode::invalid_argument, "threshold {}: expected a number from {:.3g} to {:.3g}", range.threshold,
        usable_threshold(std::numeric_limits<double>::min()),
        usable_threshold(std::numeric_limits<double>::max()));
}

CalibrationTable merged(const CalibrationTable& user, const CalibrationTable& calibrated) {
  CalibrationTable table = user;
  table.ranges.insert(calibrated.ranges.begin(), calibrated.ranges.end());
  return table;
}

} // namespace lanner
