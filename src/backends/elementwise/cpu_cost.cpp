#include "backends/elementwise/cpu_cost.h"

namespace lanner {

static double nanoseconds_of(FormulaWeight weight) {
  switch (weight) {
  case FormulaWeight::light:
    return 0.04;
  case FormulaWeight::heavy:
    return 0.5;
  case FormulaWeight::library:
    break;
  }
  return 10;
}

double nanoseconds_of(const ElementwiseProgram& program) {
  double sum = 0.05;
  for (const TileInstruction& instruction : program.instructions)
    sum += nanoseconds_of(instruction.formula->weight);
  for (const ProgramOutput& output : program.outputs)
    if (output.quantized) sum += 0.15; // a division
  return sum;
}

} // namespace lanner
