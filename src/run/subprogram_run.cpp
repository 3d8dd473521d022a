#include "run/subprogram_run.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "program/lowered/lowered.h"

namespace lanner {
SubprogramRun::SubprogramRun(const Subprogram& subprogram, const Region& region, const Arenas& arenas)
    : subprogram_(subprogram), region_(region),
      execution_(std::shared_ptr<const Program>(std::shared_ptr<const void>{}, subprogram.program.get()),
                 arenas),
      given_(region.parameters().size()), held_(region.parameters().size()),
      written_(subprogram.program->results().size()),
      constants_(subprogram.constants.begin(), subprogram.constants.end()),
      memory_(subprogram.program->results().size(), nullptr),
      computed_(subprogram.program->results().size(), nullptr) {
  for (std::size_t k = 0; k < subprogram.results.size(); ++k)
    if (subprogram.results[k].from == SubprogramResult::From::computed)
      computed_[subprogram.results[k].index] = region.outputs()[k];
}

bool SubprogramRun::takes_memory(std::size_t parameter) const {
  return subprogram_.program->input_items()[parameter].kind != ValueLocation::Kind::item;
}

void SubprogramRun::give_memory(std::size_t parameter, const void* memory) {
  given_[parameter] = {memory, nullptr, &region_.parameter(parameter)->type, device()};
  execution_.set_input(parameter, memory);
}

void SubprogramRun::give(std::size_t parameter, const StepInput& operand, const Transfers& transfers) {
  const Value& value = *region_.parameter(parameter);
  if (operand.memory && takes_memory(parameter)) {
    if (operand.type != &value.type && !(*operand.type == value.type))
      fail(ErrorCode::invalid_argument, "%{} of a region is declared {}, but is {}", value.name(),
           value.type.to_string(), operand.type->to_string());
    if (operand.device == device()) return give_memory(parameter, operand.memory);
  }
  const Item given = operand.item ? *operand.item : Item(view_of(operand));
  check_fits(given, value.type, "%" + value.name() + " of a region");
  Item& held = held_[parameter];
  given_[parameter] = {nullptr, &held, &value.type};
  if (!takes_memory(parameter)) {
    held = item_of(operand, transfers);
    if (held.tensor.defined() && !held.tensor.layout().row_major())
      held.tensor = transfers.clone(held.tensor);
    execution_.items()[subprogram_.program->input_items()[parameter].index] = held;
    return;
  }
  check(given.tensor.defined(), ErrorCode::invalid_argument,
        "%{} of a region is declared {}, but holds no tensor", value.name(), value.type.to_string());
  held = Item(transfers.on(device(), given.tensor));
  execution_.set_input(parameter, held.tensor.data());
}

bool SubprogramRun::writes_memory(std::size_t k) const {
  return result(k).from == SubprogramResult::From::computed &&
         subprogram_.program->results()[result(k).index].kind == ValueLocation::Kind::output;
}

void SubprogramRun::write_to(std::size_t k, void* memory) {
  memory_[result(k).index] = memory;
}

void SubprogramRun::run(const RunRequest& request) {
  const Transfers transfers(request);
  for (std::size_t j = 0; j < memory_.size(); ++j) {
    if (subprogram_.program->results()[j].kind != ValueLocation::Kind::output) continue;
    if (!memory_[j]) {
      const Type& type = computed_[j]->type;
      written_[j] = Item(transfers.allocate(type.dtype(), type.shape(), device()));
      execution_.set_output(j, written_[j].tensor.data());
    } else {
      execution_.set_output(j, memory_[j]);
    }
  }
  execution_.run({request.stream, request.threads, request.control, nullptr, request.memory});
}

StepInput SubprogramRun::value(std::size_t k) const {
  const SubprogramResult& from = result(k);
  if (from.from == SubprogramResult::From::parameter) return given_[from.index];
  if (from.from == SubprogramResult::From::constant) return {nullptr, &constants_[from.index], &type(k)};
  const ValueLocation& location = subprogram_.program->results()[from.index];
  if (location.kind == ValueLocation::Kind::item)
    return {nullptr, &execution_.items()[location.index], &type(k)};
  if (memory_[from.index]) return {memory_[from.index], nullptr, &type(k), device()};
  return {nullptr, &written_[from.index], &type(k)};
}

void SubprogramRun::clear() {
  std::ranges::fill(execution_.items(), Item{});
  std::ranges::fill(written_, Item{});
  std::ranges::fill(held_, Item{});
}

} // namespace lanner
