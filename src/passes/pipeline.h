#pragma once
// Runs the canonical passes.

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <lanner/cancel.h>
#include <lanner/device.h>
#include <lanner/limits.h>

#include "graph/graph.h"

namespace lanner {

/// A named graph rewriting; `run` returns whether anything changed.
struct Pass {
  std::string_view name;
  bool (*run)(Graph&);
};

/// In execution order. The list is repeated until nothing changes, a few times at most.
std::span<const Pass> canonical_passes();

/// Passes for a graph that is to be lowered for such a device. The portable graph does not get them.
std::span<const Pass> target_passes(DeviceKind device);

struct PassOptions {
  std::string stop_after; ///< Name of the pass after whose first run to stop; empty: run all.
  bool verify = false;    ///< Check the graph after every pass that changed it.
  std::filesystem::path
      trace_folder; ///< When set, `NN_name.ir` is written there after every pass that changed the graph.
  std::function<void(std::string_view pass, const Graph& graph)>
      trace; ///< Called after every pass that changed the graph.
  Limits limits;
  Control control;
};

/// Infers types, then runs the canonical passes in place. Throws Error{invalid_argument} for an unknown
/// `stop_after`, Error{cancelled}, Error{limit_exceeded}, and what inference throws.
void run_passes(Graph& graph, const PassOptions& options = {});

} // namespace lanner
