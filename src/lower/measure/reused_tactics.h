#pragma once
// Reuses the tactics that another lowered graph of the same network chose.

#include "lower/propose/alternatives.h"

namespace lanner {

/// Where `options.tactic_source` runs the same node or group by a tactic that is offered here too, keeps that
/// one and moves the others to the reserve.
void keep_chosen(Proposal& proposal, const LowerOptions& options);

} // namespace lanner
