#include "run/body_run.h"

#include <algorithm>

#include <lanner/error.h>

#include "base/account.h"
#include "base/check.h"
#include "plan/lowered.h"

namespace lanner {
BodyRun::BodyRun(const Body& body, const Region& region, std::byte* arena)
    : body_(body), region_(region),
      execution_(std::shared_ptr<const Program>(std::shared_ptr<const void>{}, body.program.get()),
                 Arenas{arena, nullptr}),
      given_(region.parameters().size()), held_(region.parameters().size()),
      written_(body.program->results().size()), constants_(body.constants.begin(), body.constants.end()),
      memory_(body.program->results().size(), nullptr), computed_(body.program->results().size(), nullptr) {
  for (std::size_t k = 0; k < body.results.size(); ++k)
    if (body.results[k].from == BodyResult::From::computed)
      computed_[body.results[k].index] = region.outputs()[k];
}

bool BodyRun::takes_memory(std::size_t parameter) const {
  return body_.program->input_items()[parameter].kind != Place::Kind::item;
}

void BodyRun::give_memory(std::size_t parameter, const void* memory) {
  given_[parameter] = {memory, nullptr, &region_.parameter(parameter)->type};
  execution_.set_input(parameter, memory);
}

void BodyRun::give(std::size_t parameter, const StepInput& operand) {
  const Value& value = *region_.parameter(parameter);
  if (operand.memory && takes_memory(parameter)) {
    if (operand.type != &value.type && !(*operand.type == value.type))
      fail(ErrorCode::invalid_argument, "%{} of a region is declared {}, but is {}", value.name(),
           value.type.to_string(), operand.type->to_string());
    return give_memory(parameter, operand.memory);
  }
  Item& held = held_[parameter];
  held = item_of(operand);
  check_fits(held, value.type, "%" + value.name() + " of a region");
  if (held.tensor.defined() && !is_plain(held.tensor)) held.tensor = held.tensor.clone();
  given_[parameter] = {nullptr, &held, &value.type};
  if (!takes_memory(parameter)) {
    execution_.items()[body_.program->input_items()[parameter].index] = held;
    return;
  }
  check(held.tensor.defined(), ErrorCode::invalid_argument,
        "%{} of a region is declared {}, but holds no tensor", value.name(), value.type.to_string());
  execution_.set_input(parameter, held.tensor.data());
}

bool BodyRun::writes_memory(std::size_t k) const {
  return result(k).from == BodyResult::From::computed &&
         body_.program->results()[result(k).index].kind == Place::Kind::output;
}

void BodyRun::write_to(std::size_t k, void* memory) {
  memory_[result(k).index] = memory;
}

void BodyRun::run(const RunRequest& request) {
  for (std::size_t j = 0; j < memory_.size(); ++j) {
    if (body_.program->results()[j].kind != Place::Kind::output) continue;
    if (!memory_[j]) {
      const Type& type = computed_[j]->type;
      written_[j] = Item(Tensor::allocate(type.dtype(), type.shape(), {}, {}, current_limits()));
      execution_.set_output(j, written_[j].tensor.data());
    } else {
      execution_.set_output(j, memory_[j]);
    }
  }
  execution_.run({request.stream, request.threads, request.control});
}

StepInput BodyRun::value(std::size_t k) const {
  const BodyResult& from = result(k);
  if (from.from == BodyResult::From::parameter) return given_[from.index];
  if (from.from == BodyResult::From::constant) return {nullptr, &constants_[from.index], &type(k)};
  const Place& place = body_.program->results()[from.index];
  if (place.kind == Place::Kind::item) return {nullptr, &execution_.items()[place.index], &type(k)};
  if (memory_[from.index]) return {memory_[from.index], nullptr, &type(k)};
  return {nullptr, &written_[from.index], &type(k)};
}

void BodyRun::clear() {
  std::ranges::fill(execution_.items(), Item{});
  std::ranges::fill(written_, Item{});
  std::ranges::fill(held_, Item{});
}

} // namespace lanner
