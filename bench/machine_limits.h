#pragma once
// What this machine can do at most, measured, to set benchmarks beside.

#include <cstddef>

namespace lanner::bench {

/// Floating-point operations a second of `threads` cores that do nothing but multiply-add in registers.
double peak_flops(int threads);

/// Bytes a second that `threads` cores read from `bytes` of memory that was read just before.
double read_bandwidth(std::size_t bytes, int threads);

} // namespace lanner::bench
