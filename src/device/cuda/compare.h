#pragma once
// Compares values in a GPU's memory, where copying them to the host would take longer than computing them.

#include <cstdint>
#include <string_view>

#include "device/cuda/gpu.h"

namespace lanner::cuda {

/// Elements that differ, as the kernels of compare.cu count them.
struct DeviceDifference {
  unsigned long long elements = 0;
  unsigned long long first = ~0ull; ///< The lowest index that differs.
};

/// Elements to compare: `got[i]` with `expected[i % period]`; skipped where the magnitude of the expected one
/// is above `range`.
struct DeviceComparison {
  const void* got = nullptr;
  std::string_view type; ///< Type of `got`: `f32`, `f16` or `bf16`.
  const float* expected = nullptr;
  std::uint64_t elements = 0, period = 0;
  float relative = 0, absolute = 0, range = 0;
};

/// Waits for the stream. Throws Error{unsupported} where the build had no nvcc.
DeviceDifference compare(const Gpu& gpu, const OwnedStream& stream, const DeviceComparison& comparison);
/// Counts words of four bytes that differ; both blocks are aligned to four bytes. Waits for the stream.
DeviceDifference compare_words(const Gpu& gpu, const OwnedStream& stream, const void* a, const void* b,
                               std::uint64_t words);
/// Whether this build has the kernels.
bool can_compare();

} // namespace lanner::cuda
