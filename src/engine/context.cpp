// Context: bindings, memory and what a run does around the steps.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "base/account.h"
#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "device/threads.h"
#include "engine/ready_shapes.h"
#include "engine/state.h"
#include "graph/op.h"
#include "image/cuda/gpu_preprocess.h"
#include "plan/lowered.h"

namespace lanner {

struct Context::State {
  std::shared_ptr<const EngineState> engine;
  AccountPtr account; ///< Of what the context holds beside the engine.
  int threads = 1;
  bool profiled = false;

  std::vector<Item> bound;          ///< By input.
  std::vector<Device> sources;      ///< By input: where the caller's data lay.
  std::vector<Tensor> given;        ///< By output: the caller's memory.
  std::vector<SpareTensors> filled; ///< By input: what images bound to it became.
  InputShapes shapes;               ///< Of what is bound.
  bool shapes_changed = true;
  std::vector<bool> input_changed;

  Tensor arena;
  std::shared_ptr<void> host_arena; ///< Pinned, for a target that is not the host.
  std::uint64_t host_arena_bytes = 0;
  ReadyList ready;            ///< The current one is what ran last, or runs.
  std::uint64_t replaced = 0; ///< Variants of the engine, when `ready` was looked up.
  std::vector<double> times;
  std::uint64_t runs = 0; ///< Of the current ones, since they became so.

  std::size_t input(std::string_view name) const;
  std::size_t output(std::string_view name) const;
  ReadyShapes& now() const { return *ready.current(); }
  Device device() const { return engine->target.device; }
  std::uint64_t idle_bytes() const;
  void choose_program(const Control& control);
  void make_ready(std::shared_ptr<const Program> program);
  void forget();
  bool drop_idle();
  void give_inputs(Stream stream);
  const void* on_device(std::size_t i, Stream stream);
  Device results_device() const;
  void place_results();
  void check_given(std::size_t i, DType dtype, const Shape& shape) const;
  void take_items(Stream stream);
  void* written_memory(std::size_t i);
  void fetch_results(Stream stream);
  void queue(Stream stream, const Control& control);
  void try_to_queue(Stream stream, const Control& control);
  void fill(const Image& image, const Preprocess& spec, Tensor& tensor, std::int64_t batch_index);
  Arenas arenas(const Program& program);
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

/// A row-major tensor that lies where kernels read, or on the host.
Tensor readable(const Tensor& tensor, Device device) {
  if (tensor.layout().row_major() && (tensor.device().is_host() || tensor.device() == device)) return tensor;
  check(tensor.device().is_host(), ErrorCode::unsupported,
        "a tensor on {} is bound to a context on {}; give one that is row-major and on the context's device "
        "or the "
        "host",
        tensor.device().to_string(), device.to_string());
  return tensor.clone();
}

} // namespace

std::size_t Context::State::input(std::string_view name) const {
  return find_binding(engine->inputs, name, "input");
}
std::size_t Context::State::output(std::string_view name) const {
  return find_binding(engine->outputs, name, "output");
}

/// What shapes that are not the current ones may hold for their next run.
std::uint64_t Context::State::idle_bytes() const {
  constexpr std::uint64_t most = 256u << 20, part = 8;
  return std::min(most, engine->limits.total_bytes / part);
}

void Context::State::choose_program(const Control& control) {
  const std::uint64_t latest = engine->variants().replaced();
  if (!shapes_changed && ready.current() && latest == replaced) return;
  if (latest != replaced || !ready.take(shapes, given)) {
    auto program = engine->specialise(shapes, threads, control, false)->program;
    if (latest != replaced) ready.drop_idle(); // they may be of those that were replaced
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
  ready.add(std::make_unique<ReadyShapes>(shapes, std::move(program), memory), given);
}

void Context::State::forget() {
  ready.clear();
  runs = 0;
}

/// Memory for what is at work; false where there is none to be had this way.
bool Context::State::drop_idle() {
  bool dropped = ready.drop_idle();
  for (SpareTensors& spares : filled) dropped = spares.drop_idle() || dropped;
  return dropped;
}

/// Scratch memory that is large enough, which all shapes share: where it moves, nothing is ready any more
/// that points into it.
Arenas Context::State::arenas(const Program& program) {
  const auto size = [](std::uint64_t bytes) {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 64));
  };
  Limits unbounded;
  unbounded.tensor_bytes = UINT64_MAX;
  if (!arena.defined() || arena.bytes() < program.arena_bytes()) {
    Tensor larger = Tensor::allocate(DType::u8, {size(program.arena_bytes())}, {}, device(), unbounded);
    forget();
    arena = std::move(larger);
  }
  if (!device().is_host() && (!host_arena || host_arena_bytes < program.host_arena_bytes())) {
    std::shared_ptr<void> larger = allocate_pinned(device(), program.host_arena_bytes());
    forget();
    host_arena = std::move(larger);
    host_arena_bytes = program.host_arena_bytes();
  }
  return {static_cast<std::byte*>(arena.data()), static_cast<std::byte*>(host_arena.get())};
}

/// What the interpreter reads.
static Item on_host(const Item& item) {
  if (!item.tensor.defined() || item.tensor.device().is_host()) return item;
  return Item(item.tensor.to(Device{}));
}

/// One picture of a batch, on the device that runs.
void Context::State::fill(const Image& image, const Preprocess& spec, Tensor& tensor,
                          std::int64_t batch_index) {
  if (device().is_host()) return preprocess(image, spec, tensor, batch_index, {threads, {}});
  preprocess_on_gpu(image, spec, tensor, batch_index, {});
}

void Context::State::give_inputs(Stream stream) {
  Execution& execution = *now().execution;
  const Program& program = execution.program();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    // What lies on the host may have been written again, so it is copied to a GPU for each run.
    const bool copied =
        !device().is_host() && bound[i].tensor.defined() && bound[i].tensor.device().is_host();
    if (!input_changed[i] && !copied) continue;
    const Place& item = program.input_items()[i];
    if (item.kind == Place::Kind::item)
      execution.items()[item.index] = on_host(bound[i]);
    else
      execution.set_input(i, copied ? on_device(i, stream) : bound[i].tensor.data());
    input_changed[i] = false;
  }
}

const void* Context::State::on_device(std::size_t i, Stream stream) {
  const Tensor& tensor = bound[i].tensor;
  Tensor& place = now().staged[i];
  if (!place.defined() || place.shape() != tensor.shape())
    place = Tensor::allocate(tensor.dtype(), tensor.shape(), {}, device());
  copy_memory({place.data(), device()}, {const_cast<void*>(tensor.data()), {}}, tensor.bytes(), stream);
  return place.data();
}

/// Results go where the inputs came from.
Device Context::State::results_device() const {
  const auto far = [](Device source) { return !source.is_host(); };
  return std::ranges::any_of(sources, far) ? device() : Device{};
}

/// What kernels write for output `i`: its result where that is on the device, else memory that is copied
/// from.
void* Context::State::written_memory(std::size_t i) {
  Tensor& result = now().results[i].tensor;
  if (result.device() == device()) return result.data();
  Tensor& written = now().written[i];
  if (!written.defined() || written.shape() != result.shape())
    written = Tensor::allocate(result.dtype(), result.shape(), {}, device());
  return written.data();
}

/// Copies to the host what is wanted there.
void Context::State::fetch_results(Stream stream) {
  ReadyShapes& current = now();
  for (std::size_t i = 0; i < current.results.size(); ++i) {
    Tensor& result = current.results[i].tensor;
    if (current.execution->program().results()[i].kind != Place::Kind::output || result.device() == device())
      continue;
    copy_memory({result.data(), {}}, {current.written[i].data(), device()}, result.bytes(), stream);
  }
}

/// Gives each output memory: the caller's, last run's where nobody holds it, else new.
void Context::State::place_results() {
  ReadyShapes& current = now();
  const Program& program = current.execution->program();
  for (std::size_t i = 0; i < current.results.size(); ++i) {
    const Value* value = program.graph().body().outputs()[i];
    if (program.results()[i].kind != Place::Kind::output) continue;
    Tensor& result = current.results[i].tensor;
    const Device wanted = results_device();
    if (given[i].defined()) {
      check_given(i, value->type.dtype(), value->type.shape());
      result = given[i];
    } else if (!result.defined() || result.owner().use_count() > 1 || result.device() != wanted) {
      result = Tensor::allocate(value->type.dtype(), value->type.shape(), {}, wanted);
    }
    current.execution->set_output(i, written_memory(i));
  }
}

void Context::State::check_given(std::size_t i, DType dtype, const Shape& shape) const {
  check(given[i].dtype() == dtype && given[i].shape() == shape, ErrorCode::invalid_argument,
        "output {}: memory for {}{} was bound, the run gives {}{}", engine->outputs[i].name,
        to_string(given[i].dtype()), given[i].shape().to_string(), to_string(dtype), shape.to_string());
}

/// Results whose size only the run told; to the caller's memory where there is some.
void Context::State::take_items(Stream stream) {
  ReadyShapes& current = now();
  for (std::size_t i = 0; i < current.results.size(); ++i) {
    if (!current.is_item(i)) continue;
    Item& result = current.results[i];
    result = current.execution->items()[current.execution->program().results()[i].index];
    if (!given[i].defined()) continue;
    const Tensor& made = result.tensor;
    check_given(i, made.dtype(), made.shape());
    copy_memory({given[i].data(), given[i].device()}, {const_cast<void*>(made.data()), made.device()},
                made.bytes(), stream);
    result = Item(given[i]);
  }
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
  state->bound.resize(state_->inputs.size());
  state->sources.resize(state_->inputs.size());
  state->given.resize(state_->outputs.size());
  state->filled.resize(state_->inputs.size());
  state->shapes.resize(state_->inputs.size());
  state->input_changed.assign(state_->inputs.size(), true);
  return Context(std::move(state));
}

void Context::bind(std::string_view input, Item value) {
  State& state = *state_;
  const AccountScope charged(state.account);
  const std::size_t i = state.input(input);
  const Binding& expected = state.engine->inputs[i];
  if (!expected.sequence) {
    check(value.tensor.defined(), ErrorCode::invalid_argument, "input {}: expected a tensor {}, got none",
          input, expected.to_string());
    check(value.tensor.dtype() == expected.dtype, ErrorCode::invalid_argument,
          "input {}: expected {}, got {}{}; convert it first", input, expected.to_string(),
          to_string(value.tensor.dtype()), value.tensor.shape().to_string());
    if (state.shapes[i] != value.tensor.shape()) state.engine->check_fits(i, value.tensor.shape());
    state.sources[i] = value.tensor.device();
    value.tensor = readable(value.tensor, state.device());
    if (state.shapes[i] != value.tensor.shape()) {
      state.shapes[i] = value.tensor.shape();
      state.shapes_changed = true;
    }
  }
  state.bound[i] = std::move(value);
  state.input_changed[i] = true;
}

void Context::bind(std::string_view input, std::span<const Image> images, const Preprocess* spec) {
  State& state = *state_;
  const AccountScope charged(state.account);
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
  state.bound[i] = {}; // what pictures of an earlier run became may be written over
  Tensor& held = state.filled[i].get(chosen->dtype, shape, state.device(), state.idle_bytes());
  for (std::size_t n = 0; n < images.size(); ++n)
    state.fill(images[n], *chosen, held, static_cast<std::int64_t>(n));
  synchronize(state.device()); // a run may use any stream
  const bool row = state.engine->inputs[i].dims.size() == 2;
  bind(input, Item(row ? held.reshaped({shape[0], held.elements() / shape[0]}) : held));
  state.sources[i] = images[0].device;
}

void Context::bind_output(std::string_view output, Tensor memory) {
  State& state = *state_;
  const std::size_t i = state.output(output);
  const Binding& expected = state.engine->outputs[i];
  check(!memory.defined() || (!expected.sequence && expected.dtype != DType::string), ErrorCode::unsupported,
        "output {}: memory can be bound for numbers only", expected.to_string());
  const bool reached = memory.device().is_host() || memory.device() == state.device();
  check(!memory.defined() || (memory.layout().row_major() && reached), ErrorCode::invalid_argument,
        "output {}: the memory bound must be row-major and on the host{}", output,
        state.device().is_host() ? "" : " or " + state.device().to_string());
  state.given[i] = std::move(memory);
  if (state.ready.current()) state.now().results[i] = {};
}

void Context::unbind() noexcept {
  State& state = *state_;
  std::fill(state.bound.begin(), state.bound.end(), Item{});
  std::fill(state.input_changed.begin(), state.input_changed.end(), true);
  // Values of the last run may share memory with what was bound.
  if (state.ready.current()) state.now().rest(state.given);
  std::fill(state.given.begin(), state.given.end(), Tensor{});
}

void Context::run(Stream stream, const Control& control) {
  enqueue(stream, control);
  const cuda::Queueing queueing(state_->device());
  synchronize(state_->device(), stream);
}

void Context::enqueue(Stream stream, const Control& control) {
  State& state = *state_;
  for (std::size_t i = 0; i < state.bound.size(); ++i) {
    const Item& item = state.bound[i];
    check(item.tensor.defined() || item.is_sequence() || item.absent, ErrorCode::invalid_argument,
          "input {} is not bound", state.engine->inputs[i].to_string());
  }
  state.queue(stream, control);
}

/// A run that finds no memory is tried again without what is kept for other shapes.
void Context::State::queue(Stream stream, const Control& control) {
  const AccountScope charged(account);
  const DeadlineScope deadline(engine->limits);
  try {
    return try_to_queue(stream, control);
  } catch (const Error& error) {
    const bool no_memory =
        error.code() == ErrorCode::limit_exceeded || error.code() == ErrorCode::out_of_memory;
    if (!no_memory || !drop_idle()) throw;
  }
  try_to_queue(stream, control);
}

void Context::State::try_to_queue(Stream stream, const Control& control) {
  choose_program(control);
  const cuda::Queueing queueing(device());
  give_inputs(stream);
  place_results();
  now().execution->run({stream, threads, control, profiled ? &times : nullptr});
  if (!device().is_host()) fetch_results(stream);
  take_items(stream);
  ++runs;
}

Item Context::output(std::string_view name) const {
  const std::size_t i = state_->output(name);
  check(state_->runs > 0, ErrorCode::invalid_argument, "output {}: nothing has run yet", name);
  return state_->now().results[i];
}

std::map<std::string, Item> Context::operator()(const std::map<std::string, Item>& inputs,
                                                const Control& control) {
  for (const auto& [name, item] : inputs) bind(name, item);
  run({}, control);
  std::map<std::string, Item> outputs;
  std::vector<Item>& results = state_->now().results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs[state_->engine->outputs[i].name] = results[i];
    results[i] = {}; // the caller's to keep: the next run takes new memory
  }
  return outputs;
}

int Context::threads() const {
  return state_->threads;
}

std::uint64_t Context::arena_bytes() const {
  return state_->ready.current() ? state_->now().execution->program().arena_bytes() : 0;
}

std::vector<StepProfile> Context::profile() const {
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
