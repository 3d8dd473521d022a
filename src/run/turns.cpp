#include "run/turns.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/account.h"
#include "base/check.h"
#include "ops/arguments.h"
#include "ops/axis.h"
#include "plan/lowered.h"

namespace lanner {
namespace {

constexpr std::int64_t first_capacity = 16;

/// One bool of a size known before running.
bool is_flag(const Type& type) {
  return type.is_static() && type.dtype() == DType::boolean && type.shape().elements() == 1;
}

} // namespace

Shape StackedOutput::shape(std::int64_t turns) const {
  std::vector<std::int64_t> dims = element_.shape().dims();
  const std::size_t axis = ops::resolve_axis(plan_.axis, dims.size() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), turns);
  return Shape(std::move(dims));
}

std::int64_t StackedOutput::index(std::int64_t turn) const {
  return plan_.backwards ? *turns_ - 1 - turn : turn;
}

void StackedOutput::begin(const StepOutput& outlet, std::optional<std::int64_t> turns, std::int64_t most,
                          const Mover& mover) {
  outlet_ = outlet;
  turns_ = turns;
  max_ = most;
  capacity_ = 0;
  list_ = ops::Stack(plan_.axis, plan_.backwards);
  if (!plan_.in_memory) return;
  if (!outlet.memory) return reserve(turns && fits(*turns) ? *turns : std::min(most, first_capacity), mover);
  const Shape declared = outlet.type->shape();
  const std::size_t axis = ops::resolve_axis(plan_.axis, declared.rank());
  capacity_ = declared[axis];
  check(declared == shape(capacity_) && (!turns || *turns == capacity_), ErrorCode::invalid_argument,
        "output {} is declared {}, but {} turns give {}", plan_.output, outlet.type->to_string(),
        turns.value_or(capacity_), shape(turns.value_or(capacity_)).to_string());
  made_ = Tensor::wrap(outlet.memory, outlet.type->dtype(), declared, nullptr, {}, device_);
}

/// A number of turns that no run could keep the results of: memory is then taken as turns are made, so that
/// they end by the limit of all memory.
bool StackedOutput::fits(std::int64_t turns) const {
  return plan_.bytes == 0 || static_cast<std::uint64_t>(turns) <= current_limits().tensor_bytes / plan_.bytes;
}

void StackedOutput::reserve(std::int64_t turns, const Mover& mover) {
  Tensor larger = mover.allocate(element_.dtype(), shape(turns), device_);
  // Only what is stacked along the first axis grows: a scan knows how many turns it makes.
  if (capacity_ > 0)
    mover.copy(place_of(larger), place_of(made_), static_cast<std::uint64_t>(capacity_) * plan_.bytes);
  made_ = std::move(larger);
  capacity_ = turns;
}

void* StackedOutput::place(std::int64_t turn, std::byte* workspace, const Mover& mover) {
  if (!plan_.in_memory) return nullptr;
  if (turn >= capacity_) {
    check(!outlet_.memory, ErrorCode::invalid_argument, "output {} is declared {}, but there are more turns",
          plan_.output, outlet_.type->to_string());
    reserve(std::min(max_, capacity_ * 2), mover);
  }
  if (!plan_.contiguous) return workspace + plan_.buffer;
  return static_cast<std::byte*>(made_.data()) + static_cast<std::uint64_t>(index(turn)) * plan_.bytes;
}

void StackedOutput::take(std::int64_t turn, const StepInput& value, const Mover& mover) {
  if (!plan_.in_memory) return list_.push(mover.on(Device{}, item_of(value, mover)).tensor);
  mover.copy_slice(mover.on(device_, view_of(value)), made_, ops::resolve_axis(plan_.axis, made_.rank()),
                   index(turn));
}

void StackedOutput::finish(std::int64_t turns, const Mover& mover) {
  if (plan_.in_memory && outlet_.memory) {
    check(turns == capacity_, ErrorCode::invalid_argument,
          "output {} is declared {}, but there were {} turns", plan_.output, outlet_.type->to_string(),
          turns);
    return;
  }
  // Without a turn the declared type tells all.
  Tensor result = made_;
  if (!plan_.in_memory || turns == 0) {
    result = list_.joined(*outlet_.type);
  } else if (turns < capacity_) {
    result = mover.allocate(element_.dtype(), shape(turns), device_);
    mover.copy(place_of(result), place_of(made_), static_cast<std::uint64_t>(turns) * plan_.bytes);
  }
  put(outlet_, Item(std::move(result)), fmt::format("output {}", plan_.output), mover);
}

void StackedOutput::clear() {
  made_ = {};
  list_ = ops::Stack();
}

TurnsStep::TurnsStep(const Step& step, const BodyMemory& memory)
    : node_(*step.node), plan_(*step.bodies->turns), device_(step.bodies->device),
      workspace_(memory.workspace),
      body_(step.bodies->list.front(), *step.node->regions().front(), body_arenas(*step.bodies, memory)),
      carried_(plan_.carried.size()), scanned_(plan_.scanned.size()),
      claimed_(step.bodies->list.front().program->results().size()),
      direct_(step.node->regions().front()->outputs().size()) {
  for (const Turns::Stacked& stacked : plan_.stacked)
    stacked_.emplace_back(stacked, body_.type(stacked.result), device_);
}

void TurnsStep::begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                      const Mover& mover) {
  outputs_ = outputs;
  const Region& region = *node_.regions().front();
  const std::size_t own = region.parameters().size() - node_.captures();
  for (std::size_t i = 0; i < node_.captures(); ++i)
    body_.give(own + i, inputs[node_.own_inputs().size() + i], mover);
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const StepInput& first = inputs[plan_.carried[i].input];
    if (plan_.carried[i].in_memory)
      carried_[i].memory = first.memory;
    else
      carried_[i].item = item_of(first, mover);
  }
  condition_ = always_ = true;
  if (!plan_.counted) return begin_scan(inputs, mover);
  const auto read = [&](std::size_t i) { return mover.on(Device{}, view_of(inputs[i])); };
  max_ = inputs.size() > 0 && node_.own_inputs().size() > 0 && inputs[0].present()
             ? std::max<std::int64_t>(0, ops::read_integer(read(0), "loop: trip count"))
             : INT64_MAX;
  if (node_.own_inputs().size() > 1 && inputs[1].present())
    condition_ = ops::read_condition(read(1), "loop: condition");
  const BodyResult& next = body_.result(0);
  always_ = next.from == BodyResult::From::parameter && next.index == 1;
  known_ = condition_ ? std::nullopt : std::optional<std::int64_t>(0);
  if (condition_ && always_ && max_ < INT64_MAX) known_ = max_;
}

void TurnsStep::begin_scan(std::span<const StepInput> inputs, const Mover& mover) {
  for (std::size_t i = 0; i < scanned_.size(); ++i) {
    const Turns::Scanned& scanned = plan_.scanned[i];
    scanned_[i] = mover.on(scanned.in_memory ? device_ : Device{}, view_of(inputs[scanned.input]));
    const Shape& shape = scanned_[i].shape();
    const std::size_t axis = ops::resolve_axis(scanned.axis, shape.rank());
    if (i == 0) max_ = shape[axis];
    check(shape[axis] == max_, ErrorCode::invalid_argument,
          "scan: scanned input {} has length {}, the first has {}", i, shape[axis], max_);
    const Type& slice = node_.regions().front()->parameter(scanned.parameter)->type;
    check(!scanned.in_memory || ops::without_axis(shape, axis) == slice.shape(), ErrorCode::invalid_argument,
          "scan: slices of scanned input {} are declared {}, but it is {}", i, slice.to_string(),
          shape.to_string());
  }
  known_ = max_;
}

void TurnsStep::run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                    const RunRequest& request) {
  // Whatever ends the run, nothing is held until the next.
  const std::unique_ptr<TurnsStep, void (*)(TurnsStep*)> held(this, [](TurnsStep* step) { step->clear(); });
  const Mover mover(request);
  begin(inputs, outputs, mover);
  for (std::size_t i = 0; i < stacked_.size(); ++i)
    stacked_[i].begin(outputs[plan_.stacked[i].output], known_, max_, mover);
  std::int64_t turn = 0;
  for (; turn < max_ && condition_; ++turn) {
    request.control.report({"run", static_cast<double>(turn), 0, "turns"});
    request.control.cancel.check();
    give_turn(turn, mover);
    place_results(turn, mover);
    body_.run(request);
    take_results(turn, mover);
  }
  finish(turn, mover);
}

void TurnsStep::give_turn(std::int64_t turn, const Mover& mover) {
  if (plan_.counted) {
    turn_ = turn;
    give_control(0, &turn_, plan_.turn, mover);
    give_control(1, &condition_, plan_.condition, mover);
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Turns::Carried& carried = plan_.carried[i];
    if (carried.in_memory)
      body_.give_memory(carried.parameter, carried_[i].memory);
    else
      body_.give(carried.parameter, {nullptr, &carried_[i].item, nullptr}, mover);
  }
  for (std::size_t i = 0; i < scanned_.size(); ++i) give_slice(i, turn, mover);
}

/// On a GPU what the region reads of them is written to a buffer.
void TurnsStep::give_control(std::size_t parameter, const void* value, std::uint64_t buffer,
                             const Mover& mover) {
  const Value& taken = *node_.regions().front()->parameter(parameter);
  if (device_.is_host() || !body_.takes_memory(parameter))
    return body_.give(parameter, {value, nullptr, &taken.type}, mover);
  const MemoryPlace place{workspace_ + buffer, device_};
  check(storage_bytes(taken) <= sizeof(std::int64_t), ErrorCode::bad_data, "%{} of a loop is declared {}",
        taken.name(), taken.type.to_string());
  if (!taken.unused()) mover.copy(place, {const_cast<void*>(value), {}}, storage_bytes(taken));
  body_.give_memory(parameter, place.data);
}

void TurnsStep::give_slice(std::size_t i, std::int64_t turn, const Mover& mover) {
  const Turns::Scanned& scanned = plan_.scanned[i];
  const Tensor& whole = scanned_[i];
  const std::int64_t place = scanned.backwards ? max_ - 1 - turn : turn;
  if (scanned.contiguous)
    return body_.give_memory(scanned.parameter, static_cast<const std::byte*>(whole.data()) +
                                                    static_cast<std::uint64_t>(place) * scanned.bytes);
  const std::size_t axis = ops::resolve_axis(scanned.axis, whole.rank());
  Shape shape = ops::without_axis(whole.shape(), axis);
  if (scanned.in_memory) {
    std::byte* const buffer = workspace_ + scanned.buffer;
    mover.take_slice(whole, axis, place,
                     Tensor::wrap(buffer, whole.dtype(), std::move(shape), nullptr, {}, device_));
    return body_.give_memory(scanned.parameter, buffer);
  }
  Tensor slice = mover.allocate(whole.dtype(), shape, Device{});
  ops::take_slice(whole, axis, place, slice);
  const Item item(std::move(slice));
  body_.give(scanned.parameter, {nullptr, &item, nullptr}, mover);
}

bool TurnsStep::claim(std::size_t k, void* memory) {
  if (!memory || !body_.writes_memory(k) || claimed_[body_.result(k).index]) return false;
  claimed_[body_.result(k).index] = true;
  body_.write_to(k, memory);
  return true;
}

void TurnsStep::place_results(std::int64_t turn, const Mover& mover) {
  std::fill(claimed_.begin(), claimed_.end(), false);
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Turns::Carried& carried = plan_.carried[i];
    if (!carried.in_memory) continue;
    // So that the last turn writes to the output.
    const std::int64_t left = known_ ? *known_ - 1 - turn : turn;
    carried_[i].next = left % 2 == 0 ? outputs_[carried.output].memory : workspace_ + carried.buffer;
    direct_[carried.result] = claim(carried.result, carried_[i].next);
  }
  for (std::size_t i = 0; i < stacked_.size(); ++i) {
    const Turns::Stacked& stacked = plan_.stacked[i];
    direct_[stacked.result] =
        claim(stacked.result, stacked_[i].place(turn, workspace_, mover)) && stacked.contiguous;
  }
  if (plan_.counted && is_flag(body_.type(0)))
    claim(0, device_.is_host() ? static_cast<void*>(&next_) : workspace_ + plan_.next);
}

void TurnsStep::take_results(std::int64_t turn, const Mover& mover) {
  for (std::size_t i = 0; i < stacked_.size(); ++i) {
    const Turns::Stacked& stacked = plan_.stacked[i];
    if (!direct_[stacked.result]) stacked_[i].take(turn, body_.value(stacked.result), mover);
  }
  if (plan_.counted && !always_) condition_ = goes_on(mover);
  for (std::size_t i = 0; i < carried_.size(); ++i) take_carried(i, mover);
}

void TurnsStep::take_carried(std::size_t i, const Mover& mover) {
  const Turns::Carried& carried = plan_.carried[i];
  State& state = carried_[i];
  const BodyResult& from = body_.result(carried.result);
  const bool unchanged = from.from == BodyResult::From::parameter && from.index == carried.parameter;
  if (unchanged) return;
  const StepInput value = body_.value(carried.result);
  if (!carried.in_memory) {
    state.item = item_of(value, mover);
    return;
  }
  if (!direct_[carried.result]) mover.copy({state.next, device_}, place_of(view_of(value)), carried.bytes);
  state.memory = state.next;
}

bool TurnsStep::goes_on(const Mover& mover) const {
  const StepInput value = body_.value(0);
  if (value.memory == &next_) return next_;
  return ops::read_condition(mover.on(Device{}, view_of(value)), "loop: condition of the body");
}

void TurnsStep::finish(std::int64_t turns, const Mover& mover) {
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const Turns::Carried& carried = plan_.carried[i];
    const StepOutput& outlet = outputs_[carried.output];
    if (carried.in_memory)
      mover.copy({outlet.memory, device_}, {const_cast<void*>(carried_[i].memory), device_}, carried.bytes);
    else
      put(outlet, std::move(carried_[i].item), fmt::format("carried value {}", i), mover);
  }
  for (StackedOutput& stacked : stacked_) stacked.finish(turns, mover);
}

void TurnsStep::clear() {
  std::ranges::fill(carried_, State{});
  std::ranges::fill(scanned_, Tensor{});
  for (StackedOutput& stacked : stacked_) stacked.clear();
  body_.clear();
}

} // namespace lanner
