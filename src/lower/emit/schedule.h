#pragma once
// Distributes independent branches of a lowered graph over several streams.

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Nodes of a lowered graph's body over several streams.
struct StreamPlan {
  int streams = 1;
  std::vector<int> of_nodes; ///< In the order of the body's nodes.
  double timed = 0;          ///< Seconds of those kernels that were timed.
  double alone = 0;          ///< Seconds of all kernels one after the other, as they were timed or guessed.
  double at_best = 0;        ///< Seconds if concurrent kernels do not slow each other down.
  double at_worst = 0;       ///< Seconds if each kernel takes at least half of the device.

  /// Whether this is certainly faster without trying it; never by estimates alone.
  bool sure() const noexcept { return timed >= 0.9 * alone && at_worst <= 0.85 * alone; }
};

/// At most `streams` streams (2 to max_streams): each node goes where it can start first after its operands;
/// one that changes the stream waits. Host steps and copies end all streams. Nothing where that would save
/// less than 2 % at best, and on a host, whose kernels use all of its cores already
/// (docs/decisions/025-schedule.md).
std::optional<StreamPlan> spread(const Graph& lowered, const Target& target, int streams);

/// Gives the nodes their streams.
void set_streams(Graph& lowered, const StreamPlan& plan);
/// How many streams a lowered graph uses.
int streams_of(const Graph& lowered);

} // namespace lanner
