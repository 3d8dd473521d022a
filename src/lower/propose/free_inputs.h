#pragma once
// Free inputs: the build chooses their storage.

#include <span>
#include <vector>

#include "lower/choose/cover.h"

namespace lanner {

/// Whether callers leave it to the build how `value` is stored: an input of the graph, plain memory.
bool is_free_input(const Value& value, const CallerMemory& callers);

/// How a free input may be held when a reader asks for it in `storage`.
Storage held_for(const Value& input, const Storage& storage, const LowerOptions& options);

/// Gives each free input the storage that costs the least in conversions for its readers.
void settle_free_inputs(Graph& graph, std::span<const Proposal> proposals, std::span<const Taken> cover,
                        const LowerOptions& options, ConversionCosts& conversion_costs);

} // namespace lanner
