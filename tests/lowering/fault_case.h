#pragma once
// Kernel faults that a tuner must find.

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/device.h>

#include "lowering/defined_kernel.h"

namespace lanner::test {

struct FaultCase {
  std::string fault;  ///< See parse_fault().
  std::string graph;  ///< Its last node is the one under test.
  std::string rule;   ///< Rule of the table after the kernel's name.
  std::string reason; ///< Part of the expected reason.
  Device device;
};
void PrintTo(const FaultCase& one, std::ostream* out);

/// Cases for kernels that run on `device`.
std::vector<FaultCase> fault_cases(Device device);
/// Test name with characters that GoogleTest allows.
std::string fault_name(const testing::TestParamInfo<FaultCase>& info);

class FaultTest : public testing::TestWithParam<FaultCase> {
protected:
  /// How GPU kernels queue their work.
  virtual Queue queue() const { return {}; }
  /// Expects the kernel to be rejected with the reason, at once and when requested again, and a faultless one
  /// tried after it to pass.
  void expect_found() const;
};

} // namespace lanner::test
