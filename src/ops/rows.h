#pragma once
// The outer loop of reference kernels.

#include <cstdint>

namespace lanner::ops {

/// Calls `body(i)` for 0 <= i < count, on up to `threads` threads.
template<typename Body>
void for_each_row(int threads, std::int64_t count, Body&& body) {
  (void)threads;
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

} // namespace lanner::ops
