#pragma once
// What the speed of a step rests on, for explain: the unit that multiplies, padding, and the machine's limit.

#include <cstdint>
#include <string>

#include "graph/target.h"
#include "program/segments.h"

namespace lanner {

/// What computes a step's products: `AMX`, `VNNI`, `AVX-512`, `AVX2`, `tensor core`, or `none`. `reason` says
/// why it is none, or why it is not a faster one that the machine has; else empty.
struct MatrixUnit {
  std::string name, reason;
};
MatrixUnit matrix_unit(const Node& node, const Target& target);

/// Bytes of the step's values, weights included, that stand for no element: layouts in blocks round dims up.
std::uint64_t padding_bytes(const Node& node);

/// The least time of a step on the target by its peak rates (lanner/machine_limits.h).
struct SpeedLimit {
  const char* by =
      ""; ///< `compute` or `memory`; empty where nothing is known, as for products of bytes on a GPU.
  double seconds = 0;
};
SpeedLimit speed_limit(const Step& step, const Target& target);

} // namespace lanner
