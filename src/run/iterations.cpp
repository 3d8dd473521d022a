#include "run/iterations.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/axis.h"
#include "ops/table/arguments.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

constexpr std::int64_t first_capacity = 16;

/// Whether the type is a single bool of static size.
bool is_flag(const Type& type) {
  return type.is_static() && type.dtype() == DType::boolean && type.shape().elements() == 1;
}

} // namespace

Shape StackedOutput::shape(std::int64_t iterations) const {
  std::vector<std::int64_t> dims = element_.shape().dims();
  const std::size_t axis = ops::resolve_axis(plan_.axis, dims.size() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), iterations);
  return Shape(std::move(dims));
}

std::int64_t StackedOutput::index(std::int64_t iteration) const {
  return plan_.backwards ? *iterations_ - 1 - iteration : iteration;
}

void StackedOutput::begin(const StepOutput& outlet, std::optional<std::int64_t> iterations, std::int64_t most,
                          const Transfers& transfers) {
  outlet_ = outlet;
  iterations_ = iterations;
  max_ = most;
  capacity_ = 0;
  list_ = ops::Stack(plan_.axis, plan_.backwards);
  if (!plan_.in_memory) return;
  if (!outlet.memory)
    return reserve(iterations && fits(*iterations) ? *iterations : std::min(most, first_capacity), transfers);
  const Shape declared = outlet.type->shape();
  const std::size_t axis = ops::resolve_axis(plan_.axis, declared.rank());
  capacity_ = declared[axis];
  check(declared == shape(capacity_) && (!iterations || *iterations == capacity_),
        ErrorCode::invalid_argument, "output {} is declared {}, but {} iterations give {}", plan_.output,
        outlet.type->to_string(), iterations.value_or(capacity_),
        shape(iterations.value_or(capacity_)).to_string());
  made_ = Tensor::wrap(outlet.memory, outlet.type->dtype(), declared, nullptr, {}, device_);
}

/// Whether the results of all iterations fit; otherwise memory grows with the iterations, until the memory
/// limit ends the run.
bool StackedOutput::fits(std::int64_t iterations) const {
  return plan_.bytes == 0 ||
         static_cast<std::uint64_t>(iterations) <= current_limits().tensor_bytes / plan_.bytes;
}

void StackedOutput::reserve(std::int64_t iterations, const Transfers& transfers) {
  Tensor larger = transfers.allocate(element_.dtype(), shape(iterations), device_);
  // Only outputs stacked along the first axis grow: a scan knows its number of iterations.
  if (capacity_ > 0)
    transfers.copy(location_of(larger), location_of(made_),
                   static_cast<std::uint64_t>(capacity_) * plan_.bytes);
  made_ = std::move(larger);
  capacity_ = iterations;
}

void* StackedOutput::place(std::int64_t iteration, std::byte* workspace, const Transfers& transfers) {
  if (!plan_.in_memory) return nullptr;
  if (iteration >= capacity_) {
    check(!outlet_.memory, ErrorCode::invalid_argument,
          "output {} is declared {}, but there are more iterations", plan_.output, outlet_.type->to_string());
    reserve(std::min(max_, capacity_ * 2), transfers);
  }
  if (!plan_.contiguous) return workspace + plan_.buffer;
  return static_cast<std::byte*>(made_.data()) + static_cast<std::uint64_t>(index(iteration)) * plan_.bytes;
}

void StackedOutput::take(std::int64_t iteration, const StepInput& value, const Transfers& transfers) {
  if (!plan_.in_memory) return list_.push(transfers.on(Device{}, item_of(value, transfers)).tensor);
  transfers.copy_slice(transfers.on(device_, view_of(value)), made_,
                       ops::resolve_axis(plan_.axis, made_.rank()), index(iteration));
}

void StackedOutput::finish(std::int64_t iterations, const Transfers& transfers) {
  if (plan_.in_memory && outlet_.memory) {
    check(iterations == capacity_, ErrorCode::invalid_argument,
          "output {} is declared {}, but there were {} iterations", plan_.output, outlet_.type->to_string(),
          iterations);
    return;
  }
  // With no iteration the declared type gives the shape.
  Tensor result = made_;
  if (!plan_.in_memory || iterations == 0) {
    result = list_.joined(*outlet_.type);
  } else if (iterations < capacity_) {
    result = transfers.allocate(element_.dtype(), shape(iterations), device_);
    transfers.copy(location_of(result), location_of(made_),
                   static_cast<std::uint64_t>(iterations) * plan_.bytes);
  }
  put(outlet_, Item(std::move(result)), fmt::format("output {}", plan_.output), transfers);
}

void StackedOutput::clear() {
  made_ = {};
  list_ = ops::Stack();
}

LoopStep::LoopStep(const Step& step, const SubprogramMemory& memory)
    : node_(*step.node), plan_(*step.subprograms->loop_values), device_(step.subprograms->device),
      workspace_(memory.workspace), subprogram_(step.subprograms->list.front(), *step.node->regions().front(),
                                                subprogram_arenas(*step.subprograms, memory)),
      carried_(plan_.carried.size()), scanned_(plan_.scanned.size()),
      claimed_(step.subprograms->list.front().program->results().size()),
      direct_(step.node->regions().front()->outputs().size()) {
  for (const LoopValues::Stacked& stacked : plan_.stacked)
    stacked_.emplace_back(stacked, subprogram_.type(stacked.result), device_);
}

void LoopStep::begin(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                     const Transfers& transfers) {
  outputs_ = outputs;
  const Region& region = *node_.regions().front();
  const std::size_t own = region.parameters().size() - node_.captures();
  for (std::size_t i = 0; i < node_.captures(); ++i)
    subprogram_.give(own + i, inputs[node_.own_inputs().size() + i], transfers);
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const StepInput& first = inputs[plan_.carried[i].input];
    if (plan_.carried[i].in_memory)
      carried_[i].memory = first.memory;
    else
      carried_[i].item = item_of(first, transfers);
  }
  condition_ = always_ = true;
  if (!plan_.counted) return begin_scan(inputs, transfers);
  const auto read = [&](std::size_t i) { return transfers.on(Device{}, view_of(inputs[i])); };
  max_ = inputs.size() > 0 && node_.own_inputs().size() > 0 && inputs[0].present()
             ? std::max<std::int64_t>(0, ops::read_integer(read(0), "loop: trip count"))
             : INT64_MAX;
  if (node_.own_inputs().size() > 1 && inputs[1].present())
    condition_ = ops::read_condition(read(1), "loop: condition");
  const SubprogramResult& next = subprogram_.result(0);
  always_ = next.from == SubprogramResult::From::parameter && next.index == 1;
  known_ = condition_ ? std::nullopt : std::optional<std::int64_t>(0);
  if (condition_ && always_ && max_ < INT64_MAX) known_ = max_;
}

void LoopStep::begin_scan(std::span<const StepInput> inputs, const Transfers& transfers) {
  for (std::size_t i = 0; i < scanned_.size(); ++i) {
    const LoopValues::Scanned& scanned = plan_.scanned[i];
    scanned_[i] = transfers.on(scanned.in_memory ? device_ : Device{}, view_of(inputs[scanned.input]));
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

void LoopStep::run(std::span<const StepInput> inputs, std::span<const StepOutput> outputs,
                   const RunRequest& request) {
  // Releases everything however the run ends.
  const std::unique_ptr<LoopStep, void (*)(LoopStep*)> held(this, [](LoopStep* step) { step->clear(); });
  const Transfers transfers(request);
  begin(inputs, outputs, transfers);
  for (std::size_t i = 0; i < stacked_.size(); ++i)
    stacked_[i].begin(outputs[plan_.stacked[i].output], known_, max_, transfers);
  std::int64_t iteration = 0;
  for (; iteration < max_ && condition_; ++iteration) {
    request.control.report({"run", static_cast<double>(iteration), 0, "iterations"});
    request.control.cancel.check();
    give_iteration(iteration, transfers);
    place_results(iteration, transfers);
    subprogram_.run(request);
    take_results(iteration, transfers);
  }
  finish(iteration, transfers);
}

void LoopStep::give_iteration(std::int64_t iteration, const Transfers& transfers) {
  if (plan_.counted) {
    iteration_ = iteration;
    give_control(0, &iteration_, plan_.iteration, transfers);
    give_control(1, &condition_, plan_.condition, transfers);
  }
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const LoopValues::Carried& carried = plan_.carried[i];
    if (carried.in_memory)
      subprogram_.give_memory(carried.parameter, carried_[i].memory);
    else
      subprogram_.give(carried.parameter, {nullptr, &carried_[i].item, nullptr}, transfers);
  }
  for (std::size_t i = 0; i < scanned_.size(); ++i) give_slice(i, iteration, transfers);
}

/// On a GPU the iteration number and condition are copied to a buffer if the region reads them.
void LoopStep::give_control(std::size_t parameter, const void* value, std::uint64_t buffer,
                            const Transfers& transfers) {
  const Value& taken = *node_.regions().front()->parameter(parameter);
  if (device_.is_host() || !subprogram_.takes_memory(parameter))
    return subprogram_.give(parameter, {value, nullptr, &taken.type}, transfers);
  const MemoryLocation location{workspace_ + buffer, device_};
  check(storage_bytes(taken) <= sizeof(std::int64_t), ErrorCode::bad_data, "%{} of a loop is declared {}",
        taken.name(), taken.type.to_string());
  if (!taken.unused()) transfers.copy(location, {const_cast<void*>(value), {}}, storage_bytes(taken));
  subprogram_.give_memory(parameter, location.data);
}

void LoopStep::give_slice(std::size_t i, std::int64_t iteration, const Transfers& transfers) {
  const LoopValues::Scanned& scanned = plan_.scanned[i];
  const Tensor& whole = scanned_[i];
  const std::int64_t position = scanned.backwards ? max_ - 1 - iteration : iteration;
  if (scanned.contiguous)
    return subprogram_.give_memory(scanned.parameter,
                                   static_cast<const std::byte*>(whole.data()) +
                                       static_cast<std::uint64_t>(position) * scanned.bytes);
  const std::size_t axis = ops::resolve_axis(scanned.axis, whole.rank());
  Shape shape = ops::without_axis(whole.shape(), axis);
  if (scanned.in_memory) {
    std::byte* const buffer = workspace_ + scanned.buffer;
    transfers.take_slice(whole, axis, position,
                         Tensor::wrap(buffer, whole.dtype(), std::move(shape), nullptr, {}, device_));
    return subprogram_.give_memory(scanned.parameter, buffer);
  }
  Tensor slice = transfers.allocate(whole.dtype(), shape, Device{});
  ops::take_slice(whole, axis, position, slice);
  const Item item(std::move(slice));
  subprogram_.give(scanned.parameter, {nullptr, &item, nullptr}, transfers);
}

bool LoopStep::claim(std::size_t k, void* memory) {
  if (!memory || !subprogram_.writes_memory(k) || claimed_[subprogram_.result(k).index]) return false;
  claimed_[subprogram_.result(k).index] = true;
  subprogram_.write_to(k, memory);
  return true;
}

void LoopStep::place_results(std::int64_t iteration, const Transfers& transfers) {
  std::fill(claimed_.begin(), claimed_.end(), false);
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const LoopValues::Carried& carried = plan_.carried[i];
    if (!carried.in_memory) continue;
    // Chosen so that the last iteration writes to the output.
    const std::int64_t left = known_ ? *known_ - 1 - iteration : iteration;
    carried_[i].next = left % 2 == 0 ? outputs_[carried.output].memory : workspace_ + carried.buffer;
    direct_[carried.result] = claim(carried.result, carried_[i].next);
  }
  for (std::size_t i = 0; i < stacked_.size(); ++i) {
    const LoopValues::Stacked& stacked = plan_.stacked[i];
    direct_[stacked.result] =
        claim(stacked.result, stacked_[i].place(iteration, workspace_, transfers)) && stacked.contiguous;
  }
  if (plan_.counted && is_flag(subprogram_.type(0)))
    claim(0, device_.is_host() ? static_cast<void*>(&next_) : workspace_ + plan_.next);
}

void LoopStep::take_results(std::int64_t iteration, const Transfers& transfers) {
  for (std::size_t i = 0; i < stacked_.size(); ++i) {
    const LoopValues::Stacked& stacked = plan_.stacked[i];
    if (!direct_[stacked.result]) stacked_[i].take(iteration, subprogram_.value(stacked.result), transfers);
  }
  if (plan_.counted && !always_) condition_ = goes_on(transfers);
  for (std::size_t i = 0; i < carried_.size(); ++i) take_carried(i, transfers);
}

void LoopStep::take_carried(std::size_t i, const Transfers& transfers) {
  const LoopValues::Carried& carried = plan_.carried[i];
  State& state = carried_[i];
  const SubprogramResult& from = subprogram_.result(carried.result);
  const bool unchanged = from.from == SubprogramResult::From::parameter && from.index == carried.parameter;
  if (unchanged) return;
  const StepInput value = subprogram_.value(carried.result);
  if (!carried.in_memory) {
    state.item = item_of(value, transfers);
    return;
  }
  if (!direct_[carried.result])
    transfers.copy({state.next, device_}, location_of(view_of(value)), carried.bytes);
  state.memory = state.next;
}

bool LoopStep::goes_on(const Transfers& transfers) const {
  const StepInput value = subprogram_.value(0);
  if (value.memory == &next_) return next_;
  return ops::read_condition(transfers.on(Device{}, view_of(value)), "loop: condition of the body");
}

void LoopStep::finish(std::int64_t iterations, const Transfers& transfers) {
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    const LoopValues::Carried& carried = plan_.carried[i];
    const StepOutput& outlet = outputs_[carried.output];
    if (carried.in_memory)
      transfers.copy({outlet.memory, device_}, {const_cast<void*>(carried_[i].memory), device_},
                     carried.bytes);
    else
      put(outlet, std::move(carried_[i].item), fmt::format("carried value {}", i), transfers);
  }
  for (StackedOutput& stacked : stacked_) stacked.finish(iterations, transfers);
}

void LoopStep::clear() {
  std::ranges::fill(carried_, State{});
  std::ranges::fill(scanned_, Tensor{});
  for (StackedOutput& stacked : stacked_) stacked.clear();
  subprogram_.clear();
}

} // namespace lanner
