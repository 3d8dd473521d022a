#pragma once
// A group of elementwise operations as a straight-line program over tiles.

#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"
#include "graph/backend.h"
#include "ops/elementwise/formula.h"

namespace lanner {

/// Operands are slots: the program's inputs, then its registers.
struct TileInstruction {
  const Formula* formula;
  Numbers numbers;
  int out = -1;
  int operands[3] = {-1, -1, -1};
};

/// A program's input: an input or inner constant, converted to f32 where it has another type.
struct ProgramInput {
  Operand operand;
  DType dtype = DType::f32;
  /// As it broadcasts: the operand's own, but for scales and zero points, of which there are one or one for
  /// each index along an axis.
  Shape shape = {};
  float zero = 0, scale = 1; ///< An element's value is (element - zero) * scale.

  /// Its layout where results have layout `result`, of rank `rank`.
  Layout layout(const Layout& result, std::size_t rank) const;
};
/// A program's result: a slot, converted to `dtype`.
struct ProgramOutput {
  int slot = -1;
  DType dtype = DType::f32;
  bool quantized = false; ///< Elements are quantised by `scale` and `zero`; else they are cast.
  float zero = 0, scale = 1;
};

struct ElementwiseProgram {
  Shape shape; ///< Of every result.
  std::vector<ProgramInput> inputs;
  std::vector<TileInstruction> instructions;
  std::vector<ProgramOutput> outputs;
  int registers = 0; ///< Each is one tile.

  int slots() const { return static_cast<int>(inputs.size()) + registers; }
};

/// Nothing, with `reason` set, when an operation, type or shape is not supported. `reason` stays empty when
/// the group is not elementwise at all. `halves`: f16 and bf16 are supported too, and quantize_linear and
/// dequantize_linear are instructions, not properties of inputs and outputs.
std::optional<ElementwiseProgram> compile_elementwise(const Group& group, std::string& reason,
                                                      bool halves = false);

/// Bytes that one run reads and writes: each operand once, however often it is read again.
double bytes_of(const ElementwiseProgram& program);

/// Marks in a tactic, for a program whose results have layout `layout`, which values may lie within larger
/// ones: results, and operands of their shape. None for layouts with blocks.
void take_strided(const ElementwiseProgram& program, const Layout& layout, Tactic& tactic);

/// A value that is passed in twice is one operand of the program: gives its further inputs the storage that
/// `tactic` requests for the first.
void share_storages(const Node& node, Tactic& tactic);

} // namespace lanner
