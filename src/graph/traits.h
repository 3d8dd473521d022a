#pragma once
// What layers above ask of an operator instead of its name. Every operator states its traits in OpDef; a new
// operator is so known to all of them at once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/type/dim.h"

namespace lanner {

class Node;

/// How results come of operands. Each operator has one.
enum class Pattern : std::uint8_t {
  unstated,    ///< Of operators from outside alone.
  constant,    ///< The value that its attribute holds.
  elementwise, ///< Computed of the broadcast elements at its place.
  movement,    ///< Elements put elsewhere, chosen, repeated or stored as another type; none is computed.
  contraction, ///< Sums of products of two operands.
  window,      ///< Computed of windows of the spatial axes of one operand, [N, C, spatial...].
  reduction,   ///< One element of each line of an axis or more.
  row,         ///< Lines that are computed as a whole: softmax, normalizations, sums on the way.
  recurrent,   ///< Steps along a sequence, each of the one before.
  sampling,    ///< Interpolated between neighbours.
  selection,   ///< Searched, sorted or counted: values decide sizes or places.
  generation,  ///< Numbers of no operand's elements: ranges, shapes, random numbers, window functions.
  composite,   ///< Several of these in one operator.
  region,      ///< Runs its regions.
  group,       ///< Nodes that one kernel computes. Lowering makes it.
  conversion,  ///< The same value, stored differently. Lowering makes it.
  container,   ///< Sequences and optional values, and what is about them.
  text,        ///< Strings.
};

/// What bounds a result's values. For quantization.
struct ValueRange {
  enum class Kind : std::uint8_t { unknown, preserved, fixed };
  Kind kind = Kind::unknown;  ///< `preserved`: no further out than the first operand's.
  double least = 0, most = 0; ///< Of `fixed`.
};

/// How a node's operands lie to a split of its results along axis 0.
struct Split {
  const Node& node;
  std::vector<bool> parts;  ///< By input: has the same axis 0, and the same part of it is given.
  std::vector<bool> shared; ///< By input: the same for all parts, or absent.
};

/// The axis of the first operand that a contraction sums over.
struct SummedAxis {
  std::size_t axis;
  Dim size; ///< As the second operand has it.
};

struct Traits {
  Pattern pattern = Pattern::unstated;
  /// A result may jump where an operand moves a little: rounding, comparing, choosing.
  bool discontinuous = false;
  /// Elements of a result are sums of many: in narrow types they are summed in f32 and differ by the order.
  bool accumulates = false;
  /// What it computes depends on the element type that an operand has, and not on its numbers alone.
  bool type_bound = false;
  /// Axis 0 of the first operand and of the results counts images, and the other operands are the same for
  /// all images.
  bool per_image = false;
  /// The leading operands that decide what a region runs, and how often.
  int control_inputs = 0;
  /// The operand that holds places along `axis` of the first one; 0: none.
  int places_input = 0;
  ValueRange range = {};

  /// Whether parts of the results along axis 0 may be computed apart from parts of the operands. Null: never.
  std::function<bool(const Split&)> split = nullptr;
  /// Of a contraction over one axis; null: over others. Nothing where types do not tell it.
  std::function<std::optional<SummedAxis>(const Node&)> summed = nullptr;
  /// Elements of one line, or steps that follow one another. Stated by each operator of the patterns `row`
  /// and `recurrent`.
  std::function<double(const Node&)> line_length = nullptr;
  /// Floating-point operations of a node with static operands. Null: one for each element of an elementwise
  /// result, else none that count.
  std::function<std::uint64_t(const Node&)> flops = nullptr;
};

} // namespace lanner
