#pragma once
// How the values of an operation that moves elements may lie.

#include <optional>
#include <vector>

#include <lanner/layout.h>

#include "backends/movement/boxes.h"
#include "graph/backend.h"

namespace lanner {

/// Layouts of what is moved, for each moved input and each output, and what these lie within.
struct Places {
  std::vector<Layout> inputs, outputs;
  std::vector<Within> inputs_within = {}, outputs_within = {}; ///< Shorter lists: whole.
};

/// The moves of an operation whose values lie so; nothing as moves_of, and for layouts with blocks.
std::optional<Moves> moves_at(const GroupOp& op, const Places& places);

/// All row-major, and all channels last where every value has channels.
std::vector<Places> even_places(const GroupOp& op);

/// Where a tactic of the node stores its values.
Places places_of(const GroupOp& op, const Tactic& tactic);

/// Says of a tactic that moves elements which values it takes within larger ones: all that it moves, but no
/// output that is filled first.
void take_strided(const GroupOp& op, const Moves& moves, Tactic& tactic);

} // namespace lanner
