#pragma once
// Kernels whose source is for NVRTC, run on the host: compiled by the machine's C++ compiler when a test
// runs, as they would be by NVRTC when an engine is built.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emulated_gpu/host_source.h"

namespace lanner::test {

class EmulatedKernels {
public:
  /// Kernel `name` of a source. Returns its number.
  std::size_t add(std::string source, std::string name);

  /// All of them at once: a compiler takes a second to begin. Throws std::runtime_error with its first
  /// complaint.
  void compile();

  /// Whether there are a compiler and the checkout.
  static bool possible() { return emulated::can_compile_for_host(); }

  /// Runs blocks one after the other. `arguments` are pointers to the kernel's arguments. False where threads
  /// wait for ever, exchange values with threads that are not there, or copy to or from places that are not
  /// aligned. Copies that go on beside their thread are made at once, or as late as it may see them.
  bool run(std::size_t kernel, std::int64_t blocks, int threads, std::vector<void*> arguments,
           bool copies_at_once = false) const;

private:
  std::vector<std::pair<std::string, std::string>> kernels_; ///< Source, name.
  emulated::HostLibrary library_;
};

} // namespace lanner::test
