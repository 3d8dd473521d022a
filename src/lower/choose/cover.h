#pragma once
// Chooses the proposals that run a graph and their alternatives: one decision for fusion, kernels and
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

/// The cheapest cover found that runs every node exactly once, by the time of kernels and of conversions
/// between their storages. In the execution order of the proposals' last nodes.
///
/// Each node of the graph is a variable of an assignment problem (lower/choose/assign.h) whose values are the
/// alternatives of all proposals that contain it. All members of a group take the same alternative or none
/// does: anything else has infinite cost, on the edges of the values between them or on extra edges.
std::vector<Taken> cheapest_cover(std::span<const Proposal> proposals, const Estimates& estimates,
                                  const LowerOptions& options, ConversionCosts& conversion_costs);

} // namespace lanner
