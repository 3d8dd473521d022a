#include "run/region_step.h"

#include <lanner/error.h>

#include "base/check.h"
#include "ops/interpreter.h"
#include "run/branch.h"
#include "run/execution.h"
#include "run/row_blocks.h"
#include "run/turns.h"

namespace lanner {
Arenas body_arenas(const Bodies& bodies, const BodyMemory& memory) {
  return {memory.workspace + bodies.arena, memory.host};
}

void check_fits(const Item& item, const Type& type, std::string_view what) {
  // A default type says nothing; sequences and optionals hold what they hold.
  if (!type.is_tensor() || type == Type{} || !item.tensor.defined()) return;
  check(fits(item.tensor, type), ErrorCode::invalid_argument, "{} is declared {}, but is {}", what,
        type.to_string(), Type(item.tensor.dtype(), item.tensor.shape()).to_string());
}

Tensor view_of(const StepInput& operand) {
  if (operand.item) return operand.item->tensor;
  return Tensor::wrap(const_cast<void*>(operand.memory), operand.type->dtype(), operand.type->shape(),
                      nullptr, {}, operand.device);
}

Item item_of(const StepInput& operand, const Mover& mover) {
  if (operand.item) return *operand.item;
  return Item(mover.clone(view_of(operand)));
}

void put(const StepOutput& outlet, Item item, std::string_view what, const Mover& mover) {
  check_fits(item, *outlet.type, what);
  if (!outlet.memory) {
    *outlet.item = std::move(item);
    return;
  }
  check(item.tensor.defined(), ErrorCode::invalid_argument, "{} is declared {}, but holds no tensor", what,
        outlet.type->to_string());
  const Tensor tensor = item.tensor.layout().row_major() ? item.tensor : mover.on(outlet.device, item.tensor);
  mover.copy({outlet.memory, outlet.device}, place_of(tensor), tensor.bytes());
}

std::unique_ptr<RegionStep> make_region_step(const Step& step, const BodyMemory& memory) {
  if (step.bodies->turns) return std::make_unique<TurnsStep>(step, memory);
  if (step.bodies->rows) return std::make_unique<RowBlocksStep>(step, memory);
  return std::make_unique<Branch>(step, memory);
}

} // namespace lanner
