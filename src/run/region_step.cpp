#include "run/region_step.h"

#include <lanner/error.h>

#include "base/check.h"
#include "ops/interpreter/interpreter.h"
#include "run/branch.h"
#include "run/execution.h"
#include "run/iterations.h"
#include "run/row_blocks.h"

namespace lanner {
Arenas subprogram_arenas(const Subprograms& subprograms, const SubprogramMemory& memory) {
  return {memory.workspace + subprograms.arena, memory.host};
}

void check_fits(const Item& item, const Type& type, std::string_view what) {
  // A default type is unknown; elements of sequences and optionals are not checked.
  if (!type.is_tensor() || type == Type{} || !item.tensor.defined()) return;
  check(fits(item.tensor, type), ErrorCode::invalid_argument, "{} is declared {}, but is {}", what,
        type.to_string(), Type(item.tensor.dtype(), item.tensor.shape()).to_string());
}

Tensor view_of(const StepInput& operand) {
  if (operand.item) return operand.item->tensor;
  return Tensor::wrap(const_cast<void*>(operand.memory), operand.type->dtype(), operand.type->shape(),
                      nullptr, {}, operand.device);
}

Item item_of(const StepInput& operand, const Transfers& transfers) {
  if (operand.item) return *operand.item;
  return Item(transfers.clone(view_of(operand)));
}

void put(const StepOutput& outlet, Item item, std::string_view what, const Transfers& transfers) {
  check_fits(item, *outlet.type, what);
  if (!outlet.memory) {
    *outlet.item = std::move(item);
    return;
  }
  check(item.tensor.defined(), ErrorCode::invalid_argument, "{} is declared {}, but holds no tensor", what,
        outlet.type->to_string());
  const Tensor tensor =
      item.tensor.layout().row_major() ? item.tensor : transfers.on(outlet.device, item.tensor);
  transfers.copy({outlet.memory, outlet.device}, location_of(tensor), tensor.bytes());
}

std::unique_ptr<RegionStep> make_region_step(const Step& step, const SubprogramMemory& memory) {
  if (step.subprograms->loop_values) return std::make_unique<LoopStep>(step, memory);
  if (step.subprograms->rows) return std::make_unique<RowBlocksStep>(step, memory);
  return std::make_unique<Branch>(step, memory);
}

} // namespace lanner
