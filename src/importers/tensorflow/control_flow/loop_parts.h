#pragma once
// The condition and body of a While, and lists that its body fills.

#include <cstddef>
#include <vector>

#include "importers/builder.h"
#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// The graphs of a While over the same variables: `condition` gives one boolean, `body` the variables after
/// an iteration. Both may read outer values by name.
struct LoopParts {
  ImportGraph condition, body;
};

/// Takes out the variables that are lists (TensorList, TensorArray) of which each iteration writes the
/// element of its own number and reads none: their elements become results of the body after those of the
/// variables that stay, in order. Returns the places of those taken out. `context` is the While's.
std::vector<std::size_t> take_written_lists(LoopParts& parts, const RuleContext& context);

/// The list after the loop, of the length that it had before: the stacked `elements`, and zeros where the
/// loop ended early.
Value* written_list(RuleContext& context, Value* before, Value* elements);

/// Whether nothing is in a list: the sizes of its elements were not known where it was made (rules_list.cpp).
bool is_unwritten_list(const Type& list, const Type& elements);

} // namespace lanner::tensorflow
