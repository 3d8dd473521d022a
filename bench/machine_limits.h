#pragma once
// Measured peak rates of this machine, for comparison in benchmarks.

#include <cstddef>

namespace lanner::bench {

/// Floating-point operations a second of `threads` cores that only multiply-add in registers.
double peak_flops(int threads);

/// Bytes a second that `threads` cores read from `bytes` of memory that were just read before.
double read_bandwidth(std::size_t bytes, int threads);

} // namespace lanner::bench
