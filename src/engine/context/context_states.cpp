// Context: states kept between runs.

#include <algorithm>

#include <lanner/error.h>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "engine/context/context_state.h"

namespace lanner {

std::optional<std::size_t> Context::State::state_with(std::size_t StatePair::*member,
                                                      std::size_t number) const {
  const auto found = std::ranges::find(engine->states, number, member);
  if (found == engine->states.end()) return std::nullopt;
  return static_cast<std::size_t>(found - engine->states.begin());
}

/// Initialises unset states with zeros, of shapes that fit the bound inputs.
void Context::State::begin_states() {
  const auto is_new = [&](const StatePair& pair) { return !bound[pair.input].tensor.defined(); };
  if (std::ranges::none_of(engine->states, is_new)) return;
  GivenShapes given(bound.size());
  for (std::size_t i = 0; i < bound.size(); ++i)
    if (bound[i].tensor.defined()) given[i] = shapes[i];
  const InputShapes all = *completed_shapes(*engine->graph, given, smallest_shapes(*engine->graph));
  for (std::size_t number = 0; number < engine->states.size(); ++number) {
    const std::size_t input = engine->states[number].input;
    if (is_new(engine->states[number]))
      set_state(number,
                Tensor::zeros(engine->inputs[input].dtype, all[input], engine->callers.input(input).layout));
  }
}

/// An enqueued run may still read and write the states.
void Context::State::wait_for_states() const {
  if (!states_written) return;
  const cuda::Current current(cuda::Gpu::get(device()));
  states_written->synchronize();
}

/// The value is copied, since runs overwrite states.
void Context::State::set_state(std::size_t number, const Tensor& value) {
  const std::size_t input = engine->states[number].input;
  const Tensor from = readable(input, value);
  wait_for_states();
  bound[input] = {}; // its memory may be overwritten
  Tensor memory = kept[number].begin(from.dtype(), from.shape(), engine->callers.input(input).layout);
  copy_memory({memory.data(), device()}, {const_cast<void*>(from.data()), from.device()}, from.bytes());
  synchronize(device()); // a run may use any stream
  take_tensor(input, std::move(memory));
}

/// The states' outputs of this run become inputs of the next.
void Context::State::keep_states(Stream stream) {
  if (engine->states.empty()) return;
  if (!device().is_host()) {
    const cuda::Gpu& gpu = cuda::Gpu::get(device());
    const cuda::Current current(gpu);
    if (!states_written) states_written = std::make_unique<cuda::Event>(gpu);
    states_written->record(static_cast<cuda::StreamHandle>(stream.handle));
  }
  ReadyShapes& current = now();
  for (std::size_t number = 0; number < engine->states.size(); ++number) {
    const StatePair& pair = engine->states[number];
    const Item& result = current.results[pair.output];
    if (current.location_of(pair.output) == ValueLocation::Kind::output) kept[number].swap_buffers();
    take_tensor(pair.input, result.tensor);
  }
  if (device().is_host()) return;
  current.swap_executions();
  std::fill(input_changed.begin(), input_changed.end(), true);
}

void Context::reset_states() noexcept {
  for (const StatePair& pair : state_->engine->states) state_->bound[pair.input] = {};
}

Item Context::state(std::string_view input) const {
  const std::size_t i = state_->input(input);
  check(state_->state_with(&StatePair::input, i).has_value(), ErrorCode::invalid_argument,
        "input {} is not a state of this engine", input);
  state_->wait_for_states();
  const Tensor& value = state_->bound[i].tensor;
  return value.defined() ? Item(value.clone()) : Item();
}

} // namespace lanner
