// Context: bindings, memory and running.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/joined.h"
#include "base/threads/thread_settings.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "device/threads.h"
#include "engine/context/context_state.h"
#include "graph/op.h"
#include "program/lowered/lowered.h"

namespace lanner {

namespace {

std::size_t find_binding(const std::vector<Binding>& bindings, std::string_view name, std::string_view what) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].name == name) return i;
    known.push_back(bindings[i].name);
  }
  fail(ErrorCode::invalid_argument, "no {} is called '{}'; there is {}", what, name, joined(known, ", "));
}

} // namespace

std::size_t Context::State::input(std::string_view name) const {
  if (std::ranges::find(engine->inputs, name, &Binding::name) == engine->inputs.end())
    engine->initialisers.refuse(name);
  return find_binding(engine->inputs, name, "input");
}
std::size_t Context::State::output(std::string_view name) const {
  return find_binding(engine->outputs, name, "output");
}

/// Bytes that shapes other than the current ones may keep for their next run.
std::uint64_t Context::State::idle_bytes() const {
  constexpr std::uint64_t most = 256u << 20, part = 8;
  return std::min(most, engine->limits.total_bytes / part);
}

void Context::State::choose_program(const Control& control) {
  take_budget();
  const std::uint64_t latest = engine->variants().replaced();
  if (!shapes_changed && ready.current() && latest == replaced) return;
  if (latest != replaced || !ready.take(shapes, lent())) {
    auto program = engine->variant(shapes, threads, control, false)->program;
    if (latest != replaced) ready.drop_idle(); // they may use replaced variants
    const bool same = ready.current() && &now().execution->program() == program.get();
    if (latest != replaced && !same) forget();
    replaced = latest;
    if (!shapes_changed && same) return;
    if (!same) make_ready(std::move(program));
  }
  runs = 0;
  ready.trim(idle_bytes());
  times.assign(now().execution->program().steps().size(), 0.0);
  std::fill(input_changed.begin(), input_changed.end(), true);
  shapes_changed = false;
}

void Context::State::make_ready(std::shared_ptr<const Program> program) {
  const Arenas memory = arenas(*program);
  ready.add(std::make_unique<ReadyShapes>(shapes, std::move(program), memory), lent());
}

/// After a change of the weight budget drops everything that points to moved weights, once the device is
/// done.
void Context::State::take_budget() {
  const std::uint64_t latest = engine->constants().devices()->version();
  if (latest == placed) return;
  placed = latest;
  ring = {};
  forget();
}

void Context::State::forget() {
  ready.clear();
  runs = 0;
}

/// Frees memory of idle shapes; false where there is none.
bool Context::State::drop_idle() {
  bool dropped = ready.drop_idle();
  for (SpareTensors& spares : filled) dropped = spares.drop_idle() || dropped;
  for (std::vector<Tensor>& all : keeps)
    dropped =
        std::erase_if(all, [](const Tensor& one) { return one.owner().use_count() == 1; }) > 0 || dropped;
  return dropped;
}

/// Scratch memory, shared by all shapes, grown as needed: if it moves, everything that points into it is
/// dropped.
Arenas Context::State::arenas(const Program& program) {
  const auto size = [](std::uint64_t bytes) {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 64));
  };
  Limits unbounded;
  unbounded.tensor_bytes = UINT64_MAX;
  const std::span<const Device> devices = program.devices();
  arena.resize(std::max(arena.size(), devices.size()));
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::uint64_t bytes = program.arena_bytes(d);
    if (arena[d].defined() && arena[d].bytes() >= bytes) continue;
    Tensor larger = Tensor::allocate(DType::u8, {size(bytes)}, {}, devices[d], unbounded);
    forget();
    arena[d] = std::move(larger);
  }
  if (!device().is_host() && (!host_arena || host_arena_bytes < program.host_arena_bytes())) {
    std::shared_ptr<void> larger = allocate_pinned(device(), program.host_arena_bytes());
    forget();
    host_arena = std::move(larger);
    host_arena_bytes = program.host_arena_bytes();
  }
  std::shared_ptr<const WeightLocations> weights = program.weights();
  if (weights->ring_bytes > 0 && (!ring.defined() || ring.bytes() < weights->ring_bytes)) {
    Tensor larger = Tensor::allocate(DType::u8, {size(weights->ring_bytes)}, {}, device(), unbounded);
    forget();
    ring = std::move(larger);
  }
  Arenas memory{static_cast<std::byte*>(arena.front().data()), static_cast<std::byte*>(host_arena.get())};
  memory.ring = static_cast<std::byte*>(ring.data());
  memory.weights = std::move(weights);
  for (std::size_t d = 1; d < devices.size(); ++d)
    memory.further.push_back(static_cast<std::byte*>(arena[d].data()));
  return memory;
}

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Context Engine::create_context(const ContextOptions& options) const {
  check_threads(options.threads);
  auto state = std::make_unique<Context::State>();
  state->engine = state_;
  state->account = std::make_shared<Account>(state_->limits, state_->account);
  state->threads = options.threads > 0 ? options.threads : state_->target.threads;
  state->profiled = options.profile;
  state->keep_results = options.keep_results && !state_->target.device.is_host();
  state->keeps.resize(state_->outputs.size());
  state->bound.resize(state_->inputs.size());
  state->sources.resize(state_->inputs.size());
  state->given.resize(state_->outputs.size());
  state->apart.resize(state_->outputs.size());
  state->filled.resize(state_->inputs.size());
  state->pictures.resize(state_->inputs.size());
  state->staging.resize(state_->inputs.size());
  state->kept.assign(state_->states.size(), KeptState(state_->target.device));
  state->shapes.resize(state_->inputs.size());
  state->input_changed.assign(state_->inputs.size(), true);
  state->bind_defaults();
  return Context(std::move(state));
}

void Context::bind(std::string_view input, Item value) {
  State& state = *state_;
  const AccountScope charged(state.account);
  if (const Binding* initialiser = state.engine->initialisers.find(input))
    return state.override_initialiser(*initialiser, std::move(value));
  const std::size_t i = state.input(input);
  const Binding& expected = state.engine->inputs[i];
  if (!expected.sequence) return state.bind_tensor(i, std::move(value.tensor));
  state.take_input(i, std::move(value));
}

void Context::bind_output(std::string_view output, Tensor memory) {
  State& state = *state_;
  const std::size_t i = state.output(output);
  const Binding& expected = state.engine->outputs[i];
  check(!memory.defined() || (!expected.sequence && expected.dtype != DType::string), ErrorCode::unsupported,
        "output {}: memory can be bound for numeric tensors only", expected.to_string());
  check(!memory.defined() || (!expected.state && !state.engine->callers.alias_of_output(i)),
        ErrorCode::invalid_argument, "output {}: it uses the memory of an input, so none can be bound for it",
        output);
  const bool reached = memory.device().is_host() || memory.device() == state.device();
  check(!memory.defined() || (reached && state.lies_right(i, memory)), ErrorCode::invalid_argument,
        "output {}: the memory bound is in layout {} on {}; expected {} on the host{}", output,
        memory.layout().to_string(), memory.device().to_string(), expected.storage,
        state.device().is_host() ? "" : " or " + state.device().to_string());
  state.given[i] = std::move(memory);
  if (state.ready.current()) state.now().results[i] = {};
}

void Context::unbind() noexcept {
  State& state = *state_;
  state.overrides.clear();
  if (state.other) state.other->unbind();
  for (std::size_t i = 0; i < state.bound.size(); ++i)
    if (!state.engine->inputs[i].state) state.bound[i] = {};
  std::fill(state.pictures.begin(), state.pictures.end(), nullptr);
  std::fill(state.input_changed.begin(), state.input_changed.end(), true);
  // Values of the last run may share memory with bound tensors.
  if (state.ready.current()) state.now().rest(state.lent());
  std::fill(state.given.begin(), state.given.end(), Tensor{});
  std::fill(state.apart.begin(), state.apart.end(), Tensor{});
  state.bind_defaults();
}

void Context::run(Stream stream, const Control& control, const RunResources& resources) {
  enqueue(stream, control, resources);
  const cuda::Queueing queueing(state_->device());
  synchronize(state_->device(), stream);
}

void Context::enqueue(Stream stream, const Control& control, const RunResources& resources) {
  State& state = *state_;
  if (resources.executor) check_executor(*resources.executor);
  if (resources.allocator) check_allocator(*resources.allocator);
  for (std::size_t i = 0; i < state.bound.size(); ++i) {
    const Item& item = state.bound[i];
    check(state.engine->inputs[i].state || item.tensor.defined() || item.is_sequence() || item.absent,
          ErrorCode::invalid_argument, "input {} is not bound", state.engine->inputs[i].to_string());
  }
  state.other_ran = !state.overrides.empty();
  if (state.other_ran) return state.queue_other(stream, control, resources);
  state.check_written_memory();
  state.queue(stream, control, {resources.executor, resources.allocator});
}

/// On out of memory the run is retried after freeing what is kept for other shapes, unless its kernels may
/// have written over the inputs already.
void Context::State::queue(Stream stream, const Control& control, const CallResources& call) {
  const AccountScope charged(account);
  const DeadlineScope deadline(engine->limits, control.cancel);
  began = false;
  try {
    return try_to_queue(stream, control, call);
  } catch (const Error& error) {
    const bool no_memory =
        error.code() == ErrorCode::limit_exceeded || error.code() == ErrorCode::out_of_memory;
    if (no_memory) check_deadline(); // a missed one is limit_exceeded too, and memory does not help
    if (!no_memory || (began && engine->callers.changes_inputs()) || !drop_idle()) throw;
  }
  try_to_queue(stream, control, call);
}

void Context::State::try_to_queue(Stream stream, const Control& control, const CallResources& call) {
  begin_states();
  choose_program(control);
  const cuda::Queueing queueing(device());
  give_inputs(stream);
  place_results(call);
  {
    const CallScope given_with_it(call);
    began = true;
    now().execution->run({stream, threads, control, profiled ? &times : nullptr});
    if (!device().is_host()) fetch_results(stream);
    take_items(stream);
    copy_from_apart(stream);
  }
  keep_states(stream);
  ++runs;
}

Item Context::output(std::string_view name) const {
  const std::size_t i = state_->output(name);
  if (state_->other_ran) return state_->other->output(name);
  check(state_->runs > 0, ErrorCode::invalid_argument, "output {}: nothing has run yet", name);
  return state_->now().results[i];
}

std::map<std::string, Item> Context::operator()(const std::map<std::string, Item>& inputs,
                                                const Control& control) {
  for (const auto& [name, item] : inputs) bind(name, item);
  run({}, control);
  std::map<std::string, Item> outputs;
  State& ran = state_->other_ran ? *state_->other->state_ : *state_;
  std::vector<Item>& results = ran.now().results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs[ran.engine->outputs[i].name] = results[i];
    results[i] = {}; // now the caller's: the next run uses new memory
  }
  return outputs;
}

int Context::threads() const {
  return state_->threads;
}

std::uint64_t Context::arena_bytes() const {
  if (state_->other_ran) return state_->other->arena_bytes();
  return state_->ready.current() ? state_->now().execution->program().arena_bytes() : 0;
}

std::vector<StepProfile> Context::profile() const {
  if (state_->other_ran) return state_->other->profile();
  std::vector<StepProfile> profiles;
  if (!state_->profiled || !state_->ready.current()) return profiles;
  const auto steps = state_->now().execution->program().steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = *steps[i].node;
    const std::string op = shown_kind(node);
    profiles.push_back({node.output()->name(), op, node.tactic.kernel, node.tactic.backend, node.sources,
                        steps[i].bytes, steps[i].flops, state_->runs, state_->times[i]});
  }
  return profiles;
}

} // namespace lanner
