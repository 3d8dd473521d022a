#pragma once
// Which proposals run a graph, and by which of their alternatives: one choice for fusion, kernels and
// storages.

#include <cstddef>
#include <span>
#include <vector>

#include "lower/choose/assign.h"
#include "lower/measure/estimates.h"
#include "lower/propose/alternatives.h"
#include "lower/propose/conversions.h"

namespace lanner {

/// A proposal and one of its alternatives, by their numbers.
struct Taken {
  std::size_t proposal = 0, alternative = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};

/// The cheapest way found of running every node exactly once: what the kernels take and what moving values
/// from one's storage to the other's takes. In the execution order of the proposals' last nodes.
///
/// Each node of the graph is a variable of an assignment problem (lower/choose/assign.h) whose values are the
/// alternatives of all proposals that hold it. Of a group's members all or none take an alternative: anything
/// else costs infinitely much, by the edges of the values between them or by edges of their own.
std::vector<Taken> cheapest_cover(std::span<const Proposal> proposals, const Estimates& estimates,
                                  const LowerOptions& options, ConversionCosts& conversion_costs);

} // namespace lanner
