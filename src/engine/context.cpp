// Context: bindings, an arena and the loop over steps.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "engine/state.h"
#include "graph/op.h"
#include "ops/interpreter.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

/// One Program's pointers in one Context. Patched where the caller's memory changes, else fixed.
class Execution {
public:
  Execution(std::shared_ptr<const Specialisation> specialisation, std::byte* arena);

  const Program& program() const { return *specialisation_->program; }
  void move_arena(std::byte* arena);
  void set_input(std::size_t index, const void* memory);
  void set_output(std::size_t index, void* memory);
  void run(Stream stream, int threads, std::vector<double>* times);
  std::vector<Item>& items() { return items_; }

private:
  struct Patch {
    std::size_t argument; ///< In inputs_ or outputs_.
    std::uint64_t offset;
  };
  void* resolve(const Place& place) const;
  void interpret(const Step& step, int threads);

  std::shared_ptr<const Specialisation> specialisation_;
  std::byte* arena_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<std::vector<Patch>> input_readers_, output_readers_, output_writers_;
  std::vector<Item> items_;
};

Execution::Execution(std::shared_ptr<const Specialisation> specialisation, std::byte* arena)
    : specialisation_(std::move(specialisation)), arena_(nullptr) {
  const Program& run = program();
  input_readers_.resize(run.graph().body().parameters().size());
  output_readers_.resize(run.results().size());
  output_writers_.resize(run.results().size());
  inputs_.assign(run.inputs().size(), nullptr);
  outputs_.assign(run.outputs().size(), nullptr);
  items_.resize(run.items());
  for (std::size_t i = 0; i < run.inputs().size(); ++i) {
    const Place& place = run.inputs()[i];
    if (place.kind == Place::Kind::input) input_readers_[place.index].push_back({i, place.offset});
    if (place.kind == Place::Kind::output) output_readers_[place.index].push_back({i, place.offset});
  }
  for (std::size_t i = 0; i < run.outputs().size(); ++i)
    if (run.outputs()[i].kind == Place::Kind::output)
      output_writers_[run.outputs()[i].index].push_back({i, run.outputs()[i].offset});
  move_arena(arena);
}

void Execution::move_arena(std::byte* arena) {
  if (arena == arena_ && arena) return;
  arena_ = arena;
  const Program& run = program();
  const auto fixed = [](const Place& place) {
    return place.kind == Place::Kind::arena || place.kind == Place::Kind::constant;
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (fixed(run.inputs()[i])) inputs_[i] = resolve(run.inputs()[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (fixed(run.outputs()[i])) outputs_[i] = resolve(run.outputs()[i]);
}

void* Execution::resolve(const Place& place) const {
  if (place.kind == Place::Kind::arena) return arena_ + place.offset;
  return const_cast<std::byte*>(static_cast<const std::byte*>(program().constants()[place.index].data())) +
         place.offset;
}

void Execution::set_input(std::size_t index, const void* memory) {
  for (const Patch& patch : input_readers_[index])
    inputs_[patch.argument] = static_cast<const std::byte*>(memory) + patch.offset;
}

void Execution::set_output(std::size_t index, void* memory) {
  for (const Patch& patch : output_readers_[index])
    inputs_[patch.argument] = static_cast<std::byte*>(memory) + patch.offset;
  for (const Patch& patch : output_writers_[index])
    outputs_[patch.argument] = static_cast<std::byte*>(memory) + patch.offset;
}

void Execution::run(Stream stream, int threads, std::vector<double>* times) {
  std::size_t number = 0;
  for (const Step& step : program().steps()) {
    const auto start = times ? Clock::now() : Clock::time_point{};
    if (step.kernel) {
      const Launch launch{{inputs_.data() + step.first_input, step.inputs},
                          {outputs_.data() + step.first_output, step.outputs},
                          arena_ + step.workspace,
                          stream};
      step.kernel->launch(launch);
    } else {
      with_context([&] { return "node " + step.node->label(); }, [&] { interpret(step, threads); });
    }
    if (times) (*times)[number++] += std::chrono::duration<double>(Clock::now() - start).count();
  }
}

/// Runs one node by its definition. Planned values go in as views and come out by copy.
void Execution::interpret(const Step& step, int threads) {
  const Program& run = program();
  const Node& node = *step.node;
  std::vector<Item> held(step.inputs);
  std::vector<const Item*> arguments(step.inputs, nullptr);
  for (std::size_t i = 0; i < step.inputs; ++i) {
    const Value* value = node.inputs()[i];
    if (!value) continue;
    const Place& place = run.inputs()[step.first_input + i];
    if (place.kind == Place::Kind::item) {
      arguments[i] = &items_[place.index];
    } else if (place.kind == Place::Kind::constant) {
      held[i].tensor = run.constants()[place.index];
      arguments[i] = &held[i];
    } else {
      void* memory = const_cast<void*>(inputs_[step.first_input + i]);
      held[i].tensor = Tensor::wrap(memory, value->type.dtype(), value->type.shape(), nullptr);
      arguments[i] = &held[i];
    }
  }
  std::vector<Item> results = run_node(node, arguments, threads);
  for (std::size_t i = 0; i < step.outputs; ++i) {
    const Place& place = run.outputs()[step.first_output + i];
    if (place.kind == Place::Kind::item) {
      items_[place.index] = std::move(results[i]);
    } else if (results[i].tensor.defined()) {
      check(results[i].tensor.shape() == node.output(i)->type.shape(), ErrorCode::internal,
            "{}: inferred {}, computed {}", node.label(), node.output(i)->type.to_string(),
            results[i].tensor.shape().to_string());
      std::memcpy(outputs_[step.first_output + i], results[i].tensor.data(), results[i].tensor.bytes());
    }
  }
}

} // namespace

struct Context::State {
  std::shared_ptr<const Engine::State> engine;
  int threads = 1;
  bool profiled = false;

  std::vector<Item> bound;   ///< By input.
  std::vector<Tensor> given; ///< By output: the caller's memory.
  std::vector<Item> results; ///< By output.
  InputShapes shapes;
  bool shapes_changed = true;
  std::vector<bool> input_changed;

  Tensor arena;
  std::shared_ptr<Execution> execution;
  std::vector<double> times;
  std::uint64_t runs = 0;

  std::size_t input(std::string_view name) const;
  std::size_t output(std::string_view name) const;
  void choose_program();
  void place_results();
};

namespace {

std::size_t find_binding(const std::vector<Binding>& bindings, std::string_view name, std::string_view what) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].name == name) return i;
    known.push_back(bindings[i].name);
  }
  fail(ErrorCode::invalid_argument, "no {} is called '{}'; there is {}", what, name, fmt::join(known, ", "));
}

/// A row-major host tensor that a kernel can read in place.
Tensor readable(const Tensor& tensor) {
  check(tensor.device().is_host(), ErrorCode::unsupported,
        "a tensor on {} is bound to a CPU context; copy it to the host first", tensor.device().to_string());
  return tensor.layout().row_major() ? tensor : tensor.clone();
}

} // namespace

std::size_t Context::State::input(std::string_view name) const {
  return find_binding(engine->inputs, name, "input");
}
std::size_t Context::State::output(std::string_view name) const {
  return find_binding(engine->outputs, name, "output");
}

void Context::State::choose_program() {
  if (!shapes_changed && execution) return;
  auto specialisation = engine->specialise(shapes, threads, {}, false);
  const std::uint64_t bytes = specialisation->program->arena_bytes();
  if (!arena.defined() || arena.bytes() < bytes)
    arena = Tensor::allocate(DType::u8, {static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 64))});
  execution = std::make_shared<Execution>(std::move(specialisation), static_cast<std::byte*>(arena.data()));
  results.assign(engine->outputs.size(), {});
  times.assign(execution->program().steps().size(), 0.0);
  runs = 0;
  std::fill(input_changed.begin(), input_changed.end(), true);
  shapes_changed = false;
}

/// Gives each output memory: the caller's, last run's where nobody holds it, else new.
void Context::State::place_results() {
  const Program& program = execution->program();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Value* value = program.graph().body().outputs()[i];
    if (program.results()[i].kind != Place::Kind::output) continue;
    Tensor& result = results[i].tensor;
    if (given[i].defined()) {
      check(given[i].dtype() == value->type.dtype() && given[i].shape() == value->type.shape(),
            ErrorCode::invalid_argument, "output {}: memory for {} was bound, the run gives {}",
            engine->outputs[i].name, given[i].shape().to_string(), value->type.to_string());
      if (result.data() == given[i].data()) continue;
      result = given[i];
    } else if (!result.defined() || result.owner().use_count() > 1) {
      result = Tensor::allocate(value->type.dtype(), value->type.shape());
    } else {
      continue;
    }
    execution->set_output(i, result.data());
  }
}

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Context Engine::create_context(const ContextOptions& options) const {
  auto state = std::make_unique<Context::State>();
  state->engine = state_;
  state->threads = options.threads > 0 ? options.threads : state_->target.threads;
  state->profiled = options.profile;
  state->bound.resize(state_->inputs.size());
  state->given.resize(state_->outputs.size());
  state->results.resize(state_->outputs.size());
  state->shapes.resize(state_->inputs.size());
  state->input_changed.assign(state_->inputs.size(), true);
  return Context(std::move(state));
}

void Context::bind(std::string_view input, Item value) {
  State& state = *state_;
  const std::size_t i = state.input(input);
  const Binding& expected = state.engine->inputs[i];
  if (!expected.sequence) {
    check(value.tensor.defined(), ErrorCode::invalid_argument, "input {}: expected a tensor {}, got none",
          input, expected.to_string());
    check(value.tensor.dtype() == expected.dtype, ErrorCode::invalid_argument,
          "input {}: expected {}, got {}{}; convert it first", input, expected.to_string(),
          to_string(value.tensor.dtype()), value.tensor.shape().to_string());
    value.tensor = readable(value.tensor);
    if (state.shapes[i] != value.tensor.shape() || !state.bound[i].tensor.defined()) {
      state.shapes[i] = value.tensor.shape();
      state.shapes_changed = true;
    }
  }
  state.bound[i] = std::move(value);
  state.input_changed[i] = true;
}

void Context::bind(std::string_view input, std::span<const Image> images, const Preprocess* spec) {
  State& state = *state_;
  const std::size_t i = state.input(input);
  const auto stored = state.engine->preprocess.find(input);
  const Preprocess* chosen = spec                                       ? spec
                             : stored != state.engine->preprocess.end() ? &stored->second
                                                                        : nullptr;
  check(chosen != nullptr, ErrorCode::invalid_argument,
        "input {}: an image is bound but the engine has no preprocessing for it; give one when building or "
        "binding",
        input);
  check(!images.empty(), ErrorCode::invalid_argument, "input {}: no image was given", input);
  Shape shape{static_cast<std::int64_t>(images.size())};
  for (std::int64_t size : output_shape(*chosen, images[0].width, images[0].height)) shape.push_back(size);
  Tensor& held = state.bound[i].tensor;
  Tensor tensor = held.defined() && held.shape() == shape && held.dtype() == chosen->dtype &&
                          held.owner().use_count() == 1
                      ? held
                      : Tensor::allocate(chosen->dtype, shape);
  for (std::size_t n = 0; n < images.size(); ++n)
    preprocess(images[n], *chosen, tensor, static_cast<std::int64_t>(n), state.threads);
  bind(input, Item(std::move(tensor)));
}

void Context::bind_output(std::string_view output, Tensor memory) {
  State& state = *state_;
  const std::size_t i = state.output(output);
  check(!memory.defined() || (memory.layout().row_major() && memory.device().is_host()),
        ErrorCode::invalid_argument, "output {}: the memory bound must be row-major on the host", output);
  state.given[i] = std::move(memory);
  state.results[i] = {};
}

void Context::run(Stream stream) {
  State& state = *state_;
  for (std::size_t i = 0; i < state.bound.size(); ++i) {
    const Item& item = state.bound[i];
    check(item.tensor.defined() || item.is_sequence() || item.absent, ErrorCode::invalid_argument,
          "input {} is not bound", state.engine->inputs[i].to_string());
  }
  state.choose_program();
  Execution& execution = *state.execution;
  const Program& program = execution.program();
  for (std::size_t i = 0; i < state.bound.size(); ++i) {
    if (!state.input_changed[i]) continue;
    const Place& item = program.input_items()[i];
    if (item.kind == Place::Kind::item)
      execution.items()[item.index] = state.bound[i];
    else
      execution.set_input(i, state.bound[i].tensor.data());
    state.input_changed[i] = false;
  }
  state.place_results();
  execution.run(stream, state.threads, state.profiled ? &state.times : nullptr);
  ++state.runs;
  for (std::size_t i = 0; i < state.results.size(); ++i)
    if (program.results()[i].kind == Place::Kind::item)
      state.results[i] = execution.items()[program.results()[i].index];
}

Item Context::output(std::string_view name) const {
  const Item& result = state_->results[state_->output(name)];
  check(state_->runs > 0, ErrorCode::invalid_argument, "output {}: nothing has run yet", name);
  return result;
}

std::map<std::string, Item> Context::operator()(const std::map<std::string, Item>& inputs) {
  for (const auto& [name, item] : inputs) bind(name, item);
  run();
  std::map<std::string, Item> outputs;
  for (std::size_t i = 0; i < state_->results.size(); ++i) {
    outputs[state_->engine->outputs[i].name] = state_->results[i];
    state_->results[i] = {}; // the caller's to keep: the next run takes new memory
  }
  return outputs;
}

int Context::threads() const {
  return state_->threads;
}

std::uint64_t Context::arena_bytes() const {
  return state_->execution ? state_->execution->program().arena_bytes() : 0;
}

std::vector<StepProfile> Context::profile() const {
  std::vector<StepProfile> profiles;
  if (!state_->profiled || !state_->execution) return profiles;
  const auto steps = state_->execution->program().steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = *steps[i].node;
    const std::string op = node.attributes.string("kind", node.kind());
    profiles.push_back({node.output()->name(), op, node.tactic.kernel, node.tactic.backend, node.sources,
                        steps[i].bytes, steps[i].flops, state_->runs, state_->times[i]});
  }
  return profiles;
}

} // namespace lanner
