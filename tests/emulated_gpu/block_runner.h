#pragma once
// Runs kernels for the emulated device, block after block.

#include <functional>
#include <string>

#include "emulated_gpu/device.h"

namespace emulated {

struct Launch {
  Place blocks{1, 1, 1}, threads{1, 1, 1};
  unsigned char* shared = nullptr; ///< Memory that each block finds full of ones.
  unsigned shared_bytes = 0;
  bool reversed = false;       ///< The last block and the last thread first.
  bool copies_at_once = false; ///< Else as late as a thread may see them.
};

/// The device of all libraries of kernels.
Device& the_device();

/// Calls `thread` as each thread of the grid. Returns what is wrong with the kernel: threads that wait for
/// each other for ever, exchanges with threads that are not there, copies that are not aligned; empty where
/// nothing is. One at a time runs, others wait.
std::string run_blocks(const Launch& launch, const std::function<void()>& thread);

} // namespace emulated
