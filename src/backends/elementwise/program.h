#pragma once
// A group of elementwise operations as a straight program over tiles.

#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"
#include "graph/backend.h"
#include "ops/elementwise/formula.h"

namespace lanner {

/// Operands are slots: first the program's inputs, then its registers.
struct TileInstruction {
  const Formula* formula;
  Numbers numbers;
  int out = -1;
  int operands[3] = {-1, -1, -1};
};

/// What a program reads: an input or an inner constant, converted to f32 where it is of another type.
struct ProgramInput {
  Operand operand;
  DType dtype = DType::f32;
};
/// What it writes: a slot, converted to `dtype`.
struct ProgramOutput {
  int slot = -1;
  DType dtype = DType::f32;
};

struct ElementwiseProgram {
  Shape shape; ///< Of every result.
  std::vector<ProgramInput> inputs;
  std::vector<TileInstruction> instructions;
  std::vector<ProgramOutput> outputs;
  int registers = 0; ///< Each is one tile.

  int slots() const { return static_cast<int>(inputs.size()) + registers; }
};

/// Nothing, with `reason` set, when some operation, type or shape has no place in such a program. `reason`
/// stays empty when the group is not elementwise at all. `halves`: f16 and bf16 count as real types.
std::optional<ElementwiseProgram> compile_elementwise(const Group& group, std::string& reason,
                                                      bool halves = false);

/// That one run reads and writes: each operand as large as it is, however often it is read again.
double bytes_of(const ElementwiseProgram& program);

/// Says of a tactic for a program whose results lie in `layout` which values it takes within larger ones:
/// results, and operands of their shape. None with blocks, where these lie otherwise.
void take_strided(const ElementwiseProgram& program, const Layout& layout, Tactic& tactic);

/// A value that comes in twice is one operand of the program: gives its further inputs the storage that
/// `tactic` asks of the first.
void share_storages(const Node& node, Tactic& tactic);

} // namespace lanner
