#pragma once
// Operators as boxes to be copied.

#include <optional>
#include <string>
#include <vector>

#include <lanner/layout.h>

#include "backends/group.h"
#include "backends/movement/box.h"

namespace lanner {

/// A box from one input to one output.
struct Move {
  std::size_t input = 0, output = 0;
  Box box;
};

/// What an operator moves. `fill` is set where elements remain that no box writes.
struct Moves {
  std::vector<Move> moves;
  bool fill = false;
  Operand fill_value; ///< Absent: zero.
};

/// How a tensor lies: strides of its logical dims. Only for layouts without blocks.
using Strides = std::vector<std::int64_t>;

/// The moves of an operation when all inputs and outputs that are moved lie by the given strides (small
/// operands that say what to do are constants). Nothing when the operator does more than move or its
/// parameters are not known.
std::optional<Moves> moves_of(const GroupOp& op, const std::vector<Strides>& inputs,
                              const std::vector<Strides>& outputs);

/// Where a slice begins along an axis of its input, and how far its elements are apart there.
struct SliceAxis {
  std::int64_t start = 0, step = 1;
};
/// One for each axis of input 0 of a `slice` that gives elements; nothing where its parameters are not known.
std::optional<std::vector<SliceAxis>> slice_axes(const GroupOp& op);

/// Inputs 0 to this number are moved; the rest say how.
std::size_t moved_inputs(const GroupOp& op);

/// Whether a group is one operation that moves elements of whole bytes, and there are some.
bool moves_whole_elements(const Group& group);

} // namespace lanner
