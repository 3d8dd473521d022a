#pragma once
// Options of lowering.

#include <cstddef>
#include <functional>
#include <span>

#include <lanner/cancel.h>

#include "graph/backend.h"
#include "graph/graph.h"
#include "lower/measure/tuner.h"
#include "program/memory/caller_memory.h"
#include "program/weights/weights.h"

namespace lanner {

struct Proposal;
/// Called with each chosen proposal and the number of its alternative, before it is applied.
using ChoiceObserver = std::function<void(const Proposal& taken, std::size_t chosen)>;

struct LowerOptions {
  std::span<const Backend* const> backends;
  Target target;
  Tuner& tuner;
  WeightStore& constants;
  const Control& control;
  const Graph* tactic_source =
      nullptr; ///< A lowered graph of other shapes whose tactics are reused where they fit.
  ChoiceObserver observe = {};
  CallerMemory callers = {}; ///< Of the graph's inputs and outputs; of a region's graph there is none.
};

} // namespace lanner
