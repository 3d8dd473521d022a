#pragma once
// Estimates a kernel's run time from the machine's peak rates.

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// A kernel's work.
struct Work {
  double operations = 0; ///< Floating-point operations; a multiply-add is two.
  double bytes = 0;      ///< Bytes read and written.
  int threads = 1;       ///< CPU threads that share the work.
  bool halves = false;   ///< Whether products are of f16 or bf16.
};

/// Seconds of one run: the larger of computing and moving, plus the launch. Data that fits the cores' caches
/// moves faster than memory. A kernel that does not reach its machine's peak scales the work by its own
/// factor.
double seconds_of(const Work& work, const Target& target);

/// Seconds of a copy between the target's GPU and another GPU or the host.
double copy_seconds(double bytes, const Target& target);

/// Bytes of a value's elements in their type's own width.
double plain_bytes(const Value& value);

} // namespace lanner
