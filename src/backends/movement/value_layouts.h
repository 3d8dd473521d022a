#pragma once
// Layouts that the values of a movement operation may have.

#include <optional>
#include <vector>

#include <lanner/layout.h>

#include "backends/movement/boxes.h"
#include "graph/backend.h"

namespace lanner {

/// Layouts of the moved values, for each moved input and each output, and the larger values they lie within.
struct ValueLayouts {
  std::vector<Layout> inputs, outputs;
  std::vector<Within> inputs_within = {}, outputs_within = {}; ///< Shorter lists: not within a larger value.
};

/// The copies of an operation whose values have these layouts; nothing as for moves_of, and for layouts with
/// blocks.
std::optional<Moves> moves_at(const GroupOp& op, const ValueLayouts& layouts);

/// All row-major, and all channels last where every value has channels.
std::vector<ValueLayouts> uniform_layouts(const GroupOp& op);

/// The storages of a node's values in a tactic.
ValueLayouts layouts_of(const GroupOp& op, const Tactic& tactic);

/// Marks in a tactic that moves elements which values may lie within larger ones: all that it moves, except
/// outputs that are filled first.
void take_strided(const GroupOp& op, const Moves& moves, Tactic& tactic);

} // namespace lanner
