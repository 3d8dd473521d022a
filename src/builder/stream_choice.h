#pragma once
// Chooses the number of streams of a network lowered for a GPU, see docs/decisions/025-schedule.md.

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <lanner/cancel.h>

#include "graph/backend.h"
#include "program/memory/caller_memory.h"
#include "program/program.h"
#include "program/weights/weights.h"

namespace lanner {

/// Inputs of the choice: what a Program needs, and bounds of the trials.
struct StreamChoice {
  std::span<const Backend* const> backends;
  const Target& target;
  WeightStore& constants;
  const CallerMemory& callers;
  const Control& control;
  std::filesystem::path timing_cache; ///< Builds that share it time one after the other.
  double seconds = 0;     ///< For trials: the first samples of each choice, then as long as time is left.
  int source_streams = 0; ///< Number of streams of a variant of other shapes; 0: there is none.
};

struct ChosenStreams {
  std::shared_ptr<const Program> program;
  std::string note;   ///< Trials and their times, for `explain`; empty where there were none.
  double seconds = 0; ///< Time spent.
};
/// `one`, or the same kernels over several streams: the faster one by measurement where time is left, else by
/// estimates that are certain, or as many streams as its source variant where there is one. Deterministic
/// builds and hosts have one stream. Where a trial fails it is `one`; throws Error{cancelled,
/// limit_exceeded}.
ChosenStreams choose_streams(std::shared_ptr<const Program> one, const StreamChoice& choice);

} // namespace lanner
