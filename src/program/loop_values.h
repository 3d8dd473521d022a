#pragma once
// The loop-carried, scanned and stacked values of a `loop` or `scan`, and their buffers.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lanner {

/// Alignment in bytes at which GPU kernels read and write values.
inline constexpr std::uint64_t gpu_alignment = 16;

/// Indices of the node's inputs and outputs and of its region's parameters and outputs. A value `in_memory`
/// has a static size and is in plain memory throughout; else it is an item. Buffers are offsets in the step's
/// workspace.
struct LoopValues {
  /// A loop-carried value: result of one iteration, parameter of the next.
  struct Carried {
    std::size_t input = 0, parameter = 0, result = 0, output = 0;
    bool in_memory = false;
    std::uint64_t bytes = 0, buffer = 0; ///< The buffer alternates with the output's memory.
  };
  /// A slice of an input along `axis` for each iteration.
  struct Scanned {
    std::size_t input = 0, parameter = 0;
    std::int64_t axis = 0;
    bool backwards = false;
    bool in_memory = false, contiguous = false;
    std::uint64_t bytes = 0, buffer = 0; ///< Of one slice; no buffer where slices are read in place.
  };
  /// An output that stacks a result of all iterations along `axis`.
  struct Stacked {
    std::size_t result = 0, output = 0;
    std::int64_t axis = 0;
    bool backwards = false;
    bool in_memory = false, contiguous = false;
    std::uint64_t bytes = 0,
                  buffer = 0; ///< Of one iteration; no buffer where it is written in place.
  };
  bool counted =
      false; ///< A loop: parameters 0 and 1 are iteration and condition, output 0 is the condition.
  std::uint64_t iteration = 0, condition = 0, next = 0; ///< Buffers for these three on a GPU.
  std::vector<Carried> carried;
  std::vector<Scanned> scanned;
  std::vector<Stacked> stacked;
  std::uint64_t workspace = 0; ///< Bytes of all buffers, a multiple of 64.
};

/// Of a `loop` or `scan` whose types were inferred, and whose regions run on `device`.
LoopValues loop_values_of(const Node& node, Device device);

} // namespace lanner
