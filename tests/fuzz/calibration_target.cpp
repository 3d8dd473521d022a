#include <stdexcept>
#include <string>

#include <lanner/calibration.h>

#include "base/limits/account.h"
#include "fuzz/targets.h"

namespace lanner::fuzz {

/// Calibration tables, and calibration caches of TensorRT. What is read is written and read back as the same.
void read_calibration(std::span<const std::byte> input) {
  const AccountPtr account = std::make_shared<Account>(small_limits());
  const AccountScope scope(account);
  const CalibrationTable table = CalibrationTable::parse(as_text(input));
  if (CalibrationTable::parse(table.to_string()) != table)
    throw std::logic_error("a calibration table changed when it was written and read");
}

} // namespace lanner::fuzz
