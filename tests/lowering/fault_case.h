#pragma once
// What a tuner has to find wrong with kernels.

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/device.h>

#include "lowering/defined_kernel.h"

namespace lanner::test {

struct FaultCase {
  std::string fault;  ///< See parse_fault().
  std::string graph;  ///< Whose last node is tried.
  std::string rule;   ///< What the table offers for it, behind the kernel's name.
  std::string reason; ///< Part of what the tuner has to say.
  Device device;
};
void PrintTo(const FaultCase& one, std::ostream* out);

/// Cases for kernels that run on `device`.
std::vector<FaultCase> fault_cases(Device device);
/// In letters that GoogleTest takes.
std::string fault_name(const testing::TestParamInfo<FaultCase>& info);

class FaultTest : public testing::TestWithParam<FaultCase> {
protected:
  /// How kernels of a GPU queue their work.
  virtual Queue queue() const { return {}; }
  /// The kernel is rejected with the reason, at once and when it is asked for again, and one without the
  /// fault that is tried behind it is not.
  void expect_found() const;
};

} // namespace lanner::test
