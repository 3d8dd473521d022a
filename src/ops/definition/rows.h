#pragma once
// The outer loop of reference kernels.

#include <cstdint>

#include "base/limits/account.h"
#include "device/parallel.h"

namespace lanner::ops {

/// For work that is short in each row: rows between two checks of the deadline.
inline constexpr std::int64_t rows_between_checks = 4096;

/// Calls `body(i)` for 0 <= i < count, on up to `threads` threads. Throws what check_deadline() throws.
template<typename Body>
void for_each_row(int threads, std::int64_t count, Body&& body) {
  parallel_for(threads, 0, count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      check_deadline(); // a row of a large product takes long
      body(i);
    }
  });
}

} // namespace lanner::ops
