#pragma once
// Traits of an operator, which other layers query instead of its name. Every operator states its traits in
// OpDef; so all layers support a new operator at once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/type/dim.h"

namespace lanner {

class Node;

/// How results depend on operands. Each operator has one pattern.
enum class Pattern : std::uint8_t {
  unstated,    ///< For user-defined operators only.
  constant,    ///< The value of its attribute.
  elementwise, ///< Computed from the broadcast elements at the same index.
  movement,    ///< Elements are moved, chosen, repeated or cast; none is computed.
  contraction, ///< Sums of products of two operands.
  window,      ///< Computed from windows of the spatial axes of one operand, [N, C, spatial...].
  reduction,   ///< One element per line along one or more axes.
  row,         ///< Lines computed as a whole: softmax, normalizations, cumulative sums.
  recurrent,   ///< Steps along a sequence, each from the one before.
  sampling,    ///< Interpolated between neighbours.
  selection,   ///< Searched, sorted or counted: values decide sizes or indices.
  generation,  ///< Not from operands' elements: ranges, shapes, random numbers, window functions.
  composite,   ///< Several of these in one operator.
  region,      ///< Runs its regions.
  group,       ///< Nodes that one kernel computes. Lowering makes it.
  conversion,  ///< The same value, stored differently. Lowering makes it.
  container,   ///< Sequences and optional values, and queries about them.
  text,        ///< Strings.
};

/// Bounds of a result's values. For quantization.
struct ValueRange {
  enum class Kind : std::uint8_t { unknown, preserved, fixed };
  Kind kind = Kind::unknown;  ///< `preserved`: within the range of the first operand.
  double least = 0, most = 0; ///< Of `fixed`.
};

/// How a node's operands relate to a split of its results along axis 0.
struct Split {
  const Node& node;
  std::vector<bool> parts;  ///< By input: has the same axis 0, and is split alike.
  std::vector<bool> shared; ///< By input: the same for all parts, or absent.
};

/// The axis of the first operand that a contraction sums over.
struct SummedAxis {
  std::size_t axis;
  Dim size; ///< As in the second operand.
};

struct Traits {
  Pattern pattern = Pattern::unstated;
  /// A small change of an operand may change a result abruptly: rounding, comparing, choosing.
  bool discontinuous = false;
  /// Elements of a result are sums of many: in narrow types they are summed in f32 and depend on the order.
  bool accumulates = false;
  /// The result depends on an operand's element type, not only on its values.
  bool type_bound = false;
  /// Axis 0 of the first operand and of the results counts images, and the other operands are the same for
  /// all images.
  bool per_image = false;
  /// The leading operands that decide what a region runs, and how often.
  int control_inputs = 0;
  /// The operand that holds indices along `axis` of the first one; 0: none.
  int index_input = 0;
  ValueRange range = {};

  /// Whether parts of the results along axis 0 may be computed independently from parts of the operands.
  /// Null: never.
  std::function<bool(const Split&)> split = nullptr;
  /// For contractions over a single axis; null for all others. Returns nothing if the types do not determine
  /// the axis.
  std::function<std::optional<SummedAxis>(const Node&)> summed = nullptr;
  /// Elements of one line, or steps that follow one another. Stated by each operator of the patterns `row`
  /// and `recurrent`.
  std::function<double(const Node&)> line_length = nullptr;
  /// Floating-point operations of a node with static operands. Null: one for each element of an elementwise
  /// result, else none that count.
  std::function<std::uint64_t(const Node&)> flops = nullptr;
};

} // namespace lanner
