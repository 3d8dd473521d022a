#pragma once
// Runs one hostile node, from its text to its results.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>

#include "hostile_operators/seed.h"

namespace lanner::hostile {

enum class End : unsigned char {
  refused_reading, ///< By the parser or by inference; this and all below by an Error.
  refused_building,
  refused_running,
  ran,
  not_run,  ///< Built; its inputs are too large to allocate here.
  internal, ///< Findings, from here on: an Error that reports an internal fault.
  foreign,  ///< An exception that is not an Error.
  wrong,    ///< A kernel whose result differs from the definition's.
  count
};
std::string_view to_string(End end);
inline bool is_finding(End end) {
  return end >= End::internal;
}

struct Outcome {
  End end = End::ran;
  std::string message;
  bool late = false;       ///< It ended at the time limit, as a valid node may on a loaded machine.
  std::size_t kernels = 0; ///< Kernels tried.
};

/// Options of every case.
Limits case_limits();
/// Reads the graph, builds it, runs it on usual inputs and on some filled according to `number`, and tries
/// every tactic of the CPU's backends on the lowered nodes. Does not throw. `usual`: on usual inputs only.
Outcome run_case(const Seed& seed, std::size_t number, bool usual = false);

} // namespace lanner::hostile
