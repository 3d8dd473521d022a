#pragma once
// Runs kernels for the emulated device, block by block.

#include <functional>
#include <string>

#include "emulated_gpu/device.h"

namespace emulated {

struct Launch {
  Dim3 blocks{1, 1, 1}, threads{1, 1, 1};
  unsigned char* shared = nullptr; ///< Shared memory, filled with one bits for each block.
  unsigned shared_bytes = 0;
  bool reversed = false; ///< Last block and last thread first.
  bool copies_at_once =
      false; ///< Asynchronous copies complete immediately; otherwise as late as a thread may observe.
};

/// The device, shared by all libraries of kernels.
Device& the_device();

/// Calls `thread` as each thread of the grid. Returns what is wrong with the kernel: deadlocks, exchanges
/// with threads that do not take part, unaligned copies; empty when there is nothing. One launch runs at a
/// time, others wait.
std::string run_blocks(const Launch& launch, const std::function<void()>& thread);

} // namespace emulated
