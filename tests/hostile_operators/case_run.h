#pragma once
// One hostile node from its text to its answers.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>

#include "hostile_operators/seed.h"

namespace lanner::hostile {

enum class End : unsigned char {
  refused_reading, ///< By the parser or by inference, as all those below with an Error.
  refused_building,
  refused_running,
  ran,
  not_run,  ///< Built; its inputs have no memory here.
  internal, ///< Findings, from here on: an Error that says it is the product's own fault.
  foreign,  ///< An exception that is no Error.
  wrong,    ///< A kernel whose answer is not the definition's.
  count
};
std::string_view to_string(End end);
inline bool is_finding(End end) {
  return end >= End::internal;
}

struct Outcome {
  End end = End::ran;
  std::string message;
  std::size_t kernels = 0; ///< That were tried.
};

/// What every case runs under.
Limits case_limits();
/// Reads the graph, builds it, runs it on usual inputs and on some filled in the way that `number` says, and
/// tries every tactic of the CPU's backends on what it lowers. Does not throw. `usual`: on usual ones alone.
Outcome run_case(const Seed& seed, std::size_t number, bool usual = false);

} // namespace lanner::hostile
