#pragma once
// Operators as box copies.

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

/// The copies of an operator. `fill` is set where elements remain that no box writes.
struct Moves {
  std::vector<Move> moves;
  bool fill = false;
  Operand fill_value; ///< Absent: zero.
};

/// Memory layout of a tensor: strides of its logical dims. Only for layouts without blocks.
using Strides = std::vector<std::int64_t>;

/// The copies of an operation when all moved inputs and outputs have the given strides (small operands that
/// parametrise it are constants). Nothing when the operator does more than move elements or its parameters
/// are unknown.
std::optional<Moves> moves_of(const GroupOp& op, const std::vector<Strides>& inputs,
                              const std::vector<Strides>& outputs);

/// Start and step of a slice along an axis of its input.
struct SliceAxis {
  std::int64_t start = 0, step = 1;
};
/// One for each axis of input 0 of a non-empty `slice`; nothing where its parameters are unknown.
std::optional<std::vector<SliceAxis>> slice_axes(const GroupOp& op);

/// Inputs from 0 up to this number are moved; the rest are parameters.
std::size_t moved_inputs(const GroupOp& op);

/// Whether a group is one operation that moves elements of whole bytes, and at least one.
bool moves_whole_elements(const Group& group);

} // namespace lanner
