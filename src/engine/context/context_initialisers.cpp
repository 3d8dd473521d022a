// Context: initialisers of the model, overridden by a run or with their default values.

#include <lanner/error.h>

#include "base/check.h"
#include "engine/context/context_state.h"
#include "engine/overriding.h"

namespace lanner {

/// Unbound inputs get the model's default values.
void Context::State::bind_defaults() {
  for (std::size_t i = 0; i < engine->defaults.size(); ++i)
    if (engine->defaults[i].defined()) bind_tensor(i, engine->defaults[i]);
}

void Context::State::override_initialiser(const Binding& expected, Item value) {
  check(value.tensor.defined(), ErrorCode::invalid_argument, "input {}: expected a tensor {}, got none",
        expected.name, expected.to_string());
  check(value.tensor.dtype() == expected.dtype, ErrorCode::invalid_argument,
        "input {} expected, got {}{}; convert it first", expected.to_string(),
        to_string(value.tensor.dtype()), value.tensor.shape().to_string());
  check(engine->states.empty(), ErrorCode::unsupported,
        "input {0}: it is an initialiser, and a context that keeps states cannot switch to another engine; "
        "build with overridden {0}",
        expected.name);
  overrides.insert_or_assign(expected.name, std::move(value));
}

/// Runs the engine that has the overridden initialisers as inputs, with the bindings of this context.
void Context::State::queue_other(Stream stream, const Control& control, const RunResources& resources) {
  std::set<std::string> names;
  for (const auto& [name, item] : overrides) names.insert(name);
  if (!other || other_names != names) {
    const Engine another = [&] {
      const DeadlineScope deadline(engine->limits, control.cancel);
      return engine->overriding->with(names, control);
    }();
    other = std::make_unique<Context>(
        another.create_context({.threads = threads, .profile = profiled, .keep_results = keep_results}));
    other_names = std::move(names);
  }
  State& ran = *other->state_;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const std::string& name = engine->inputs[i].name;
    other->bind(name, bound[i]);
    const std::size_t there = ran.input(name);
    ran.sources[there] = sources[i];
    ran.pictures[there] = pictures[i];
  }
  for (const auto& [name, item] : overrides) other->bind(name, item);
  for (std::size_t i = 0; i < given.size(); ++i) other->bind_output(engine->outputs[i].name, given[i]);
  other->enqueue(stream, control, resources);
}

} // namespace lanner
