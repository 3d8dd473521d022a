#pragma once
// One stream or several for a network that was lowered for a GPU, see docs/decisions/025-schedule.md.

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

/// What a Program is made of, and how its streams may be found.
struct StreamChoice {
  std::span<const Backend* const> backends;
  const Target& target;
  WeightStore& constants;
  const CallerMemory& callers;
  const Control& control;
  std::filesystem::path timing_cache; ///< Builds that share it take turns at timing.
  double seconds = 0; ///< That trials may take: of each choice a first impression, then as far as it goes.
  int source_streams = 0; ///< As many streams as a variant of other shapes uses; 0: there is none.
};

struct ChosenStreams {
  std::shared_ptr<const Program> program;
  std::string note;   ///< What was tried, for `explain`; empty where nothing was.
  double seconds = 0; ///< That it took.
};
/// `one`, or the same kernels over several streams: what ran faster as a whole where seconds are left, what
/// is faster by all that is known where not, and what its model does where it has one. A deterministic build
/// has one stream, and so has a host. Where a trial fails it is `one`; throws Error{cancelled,
/// limit_exceeded}.
ChosenStreams choose_streams(std::shared_ptr<const Program> one, const StreamChoice& choice);

} // namespace lanner
