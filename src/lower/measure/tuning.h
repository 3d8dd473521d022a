#pragma once
// Which alternatives are timed, in which order, and how often.

#include <functional>
#include <span>
#include <vector>

#include "lower/propose/alternatives.h"

namespace lanner {

/// Adds to each what its backends find by a search, unmeasured.
using SearchMore = std::function<void(std::span<Proposal* const> entries)>;

/// Times what is offered for each node and what `search` finds, as far as the tuner's budget goes, and leaves
/// out what is wrong. Where some alternatives of a node were measured, those that were not are left out, but
/// for aliases.
void time_alternatives(std::span<Proposal> entries, const LowerOptions& options, const SearchMore& search);

} // namespace lanner
