#pragma once
// Runs kernels written for NVRTC on the host: compiled by the machine's C++ compiler when a test runs, as
// NVRTC would when an engine is built.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/tensor_map.h"
#include "emulated_gpu/host_source.h"

namespace lanner::test {

/// As the driver would describe it to the emulated copy engine; nothing where it would refuse.
std::optional<cuda::TensorMap> emulated_map(const cuda::TensorBoxes& boxes, const void* memory);

class EmulatedKernels {
public:
  /// Adds kernel `name` of a source. Returns its number.
  std::size_t add(std::string source, std::string name);

  /// Compiles all of them at once, as starting a compiler takes a second. Throws std::runtime_error with the
  /// first error message.
  void compile();

  /// Whether there are a compiler and a checkout.
  static bool possible() { return emulated::can_compile_for_host(); }

  /// Runs the blocks one after another. `arguments` are pointers to the kernel's arguments. False for a
  /// deadlock, an exchange with threads that do not take part, or an unaligned copy. Asynchronous copies are
  /// done immediately, or as late as a thread may observe.
  bool run(std::size_t kernel, std::int64_t blocks, int threads, std::vector<void*> arguments,
           bool copies_at_once = false) const;

private:
  std::vector<std::pair<std::string, std::string>> kernels_; ///< Source, name.
  emulated::HostLibrary library_;
};

} // namespace lanner::test
