#pragma once
// How long a kernel should take by what its machine can do.

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// What a kernel does.
struct Work {
  double operations = 0; ///< Of products and sums in reals; a multiply-add is two.
  double bytes = 0;      ///< That it reads and writes.
  int threads = 1;       ///< Of a CPU that share it.
  bool halves = false;   ///< Whether products are of f16 or bf16.
};

/// Seconds of one run: whichever of computing and moving takes longer, and the start. What stays in the
/// cores' caches moves faster than memory. A kernel that keeps below its machine's best says so by a factor
/// of its own on the work.
double seconds_of(const Work& work, const Target& target);

/// Seconds of a copy between a GPU, the target's device, and another one or the host.
double copy_seconds(double bytes, const Target& target);

/// Bytes of a value's elements in their type's own width.
double plain_bytes(const Value& value);

} // namespace lanner
