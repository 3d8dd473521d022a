#pragma once
// Decides which alternatives are timed, in which order and how often.

#include <functional>
#include <span>
#include <vector>

#include "lower/propose/alternatives.h"

namespace lanner {

/// The alternatives that are run by a kernel.
std::vector<Candidate> candidates_of(const Proposal& entry, std::size_t first = 0);

/// Adds to each the alternatives that its backends find by a search, unmeasured.
using SearchMore = std::function<void(std::span<Proposal* const> entries)>;

/// Times what is offered for each node and what `search` finds, within the tuner's budget, and removes wrong
/// ones. Where some alternatives of a node were measured, the others are removed, except aliases.
void time_alternatives(std::span<Proposal* const> entries, const LowerOptions& options,
                       const SearchMore& search);

} // namespace lanner
