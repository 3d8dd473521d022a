#pragma once
// Deadlines in loops whose iterations are too short to check each time.

#include <cstdint>

#include "base/limits/account.h"

namespace lanner {

/// Calls check_deadline() once every so many steps: some tenths of a millisecond of comparisons.
class PacedDeadline {
public:
  void operator()(std::uint64_t steps = 1) {
    if ((done_ += steps) < between) return;
    done_ = 0;
    check_deadline();
  }

private:
  static constexpr std::uint64_t between = 1u << 16;
  std::uint64_t done_ = 0;
};

} // namespace lanner
