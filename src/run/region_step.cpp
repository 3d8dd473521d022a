#include "run/region_step.h"

#include <cstring>

#include <lanner/error.h>

#include "base/check.h"
#include "ops/interpreter.h"
#include "run/branch.h"
#include "run/row_blocks.h"
#include "run/turns.h"

namespace lanner {
bool is_plain(const Tensor& tensor) {
  return tensor.layout().row_major() && tensor.device().is_host();
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
                      nullptr);
}

Item item_of(const StepInput& operand) {
  if (operand.item) return *operand.item;
  return Item(view_of(operand).clone());
}

void put(const StepOutput& outlet, Item item, std::string_view what) {
  check_fits(item, *outlet.type, what);
  if (!outlet.memory) {
    *outlet.item = std::move(item);
    return;
  }
  check(item.tensor.defined(), ErrorCode::invalid_argument, "{} is declared {}, but holds no tensor", what,
        outlet.type->to_string());
  const Tensor tensor = is_plain(item.tensor) ? item.tensor : item.tensor.clone();
  if (tensor.bytes() > 0) std::memmove(outlet.memory, tensor.data(), tensor.bytes());
}

std::unique_ptr<RegionStep> make_region_step(const Step& step, std::byte* workspace) {
  if (step.bodies->turns) return std::make_unique<TurnsStep>(step, workspace);
  if (step.bodies->rows) return std::make_unique<RowBlocksStep>(step, workspace);
  return std::make_unique<Branch>(step, workspace);
}

} // namespace lanner
