// Context: bindings, memory and what a run does around the steps.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "base/account.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "device/threads.h"
#include "engine/state.h"
#include "graph/op.h"
#include "image/cuda/gpu_preprocess.h"
#include "plan/lowered.h"
#include "run/execution.h"

namespace lanner {

struct Context::State {
  std::shared_ptr<const Engine::State> engine;
  AccountPtr account; ///< Of what the context holds beside the engine.
  int threads = 1;
  bool profiled = false;

  std::vector<Item> bound;     ///< By input.
  std::vector<Device> sources; ///< By input: where the caller's data lay.
  std::vector<Tensor> given;   ///< By output: the caller's memory.
  std::vector<Item> results;   ///< By output.
  std::vector<Tensor> filled;  ///< By input: what images bound to it became.
  std::vector<Tensor> staged;  ///< By input, for a GPU: where what lies on the host is copied to.
  std::vector<Tensor>
      written; ///< By output, for a GPU: what kernels write where the result goes to the host.
  InputShapes shapes;
  bool shapes_changed = true;
  std::vector<bool> input_changed;

  Tensor arena;
  std::shared_ptr<void> host_arena; ///< Pinned, for a target that is not the host.
  std::uint64_t host_arena_bytes = 0;
  std::shared_ptr<Execution> execution;
  std::vector<double> times;
  std::uint64_t runs = 0;

  std::size_t input(std::string_view name) const;
  std::size_t output(std::string_view name) const;
  bool is_item(std::size_t output) const;
  Device device() const { return engine->target.device; }
  void choose_program(const Control& control);
  void give_inputs(Stream stream);
  const void* on_device(std::size_t i, Stream stream);
  Device results_device() const;
  void place_results();
  void check_given(std::size_t i, DType dtype, const Shape& shape) const;
  void take_items(Stream stream);
  void* written_memory(std::size_t i);
  void fetch_results(Stream stream);
  void queue(Stream stream, const Control& control);
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

/// Whether a run alone tells the size of an output, or it is no tensor of numbers.
bool Context::State::is_item(std::size_t output) const {
  return execution->program().results()[output].kind == Place::Kind::item;
}

void Context::State::choose_program(const Control& control) {
  if (!shapes_changed && execution) return;
  auto program = engine->specialise(shapes, threads, control, false)->program;
  const Arenas memory = arenas(*program);
  execution = std::make_shared<Execution>(std::move(program), memory);
  written.assign(engine->outputs.size(), {});
  results.assign(engine->outputs.size(), {});
  times.assign(execution->program().steps().size(), 0.0);
  runs = 0;
  std::fill(input_changed.begin(), input_changed.end(), true);
  shapes_changed = false;
}

/// Scratch memory that is large enough; what earlier runs used is kept where it is.
Arenas Context::State::arenas(const Program& program) {
  const auto size = [](std::uint64_t bytes) {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 64));
  };
  Limits unbounded;
  unbounded.tensor_bytes = UINT64_MAX;
  if (!arena.defined() || arena.bytes() < program.arena_bytes())
    arena = Tensor::allocate(DType::u8, {size(program.arena_bytes())}, {}, device(), unbounded);
  if (!device().is_host() && (!host_arena || host_arena_bytes < program.host_arena_bytes())) {
    host_arena = allocate_pinned(device(), program.host_arena_bytes());
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
  const Program& program = execution->program();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    // What lies on the host may have been written again, so it is copied to a GPU for each run.
    const bool copied =
        !device().is_host() && bound[i].tensor.defined() && bound[i].tensor.device().is_host();
    if (!input_changed[i] && !copied) continue;
    const Place& item = program.input_items()[i];
    if (item.kind == Place::Kind::item)
      execution->items()[item.index] = on_host(bound[i]);
    else
      execution->set_input(i, copied ? on_device(i, stream) : bound[i].tensor.data());
    input_changed[i] = false;
  }
}

const void* Context::State::on_device(std::size_t i, Stream stream) {
  const Tensor& tensor = bound[i].tensor;
  Tensor& place = staged[i];
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
  Tensor& result = results[i].tensor;
  if (result.device() == device()) return result.data();
  if (!written[i].defined() || written[i].shape() != result.shape())
    written[i] = Tensor::allocate(result.dtype(), result.shape(), {}, device());
  return written[i].data();
}

/// Copies to the host what is wanted there.
void Context::State::fetch_results(Stream stream) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    Tensor& result = results[i].tensor;
    if (execution->program().results()[i].kind != Place::Kind::output || result.device() == device())
      continue;
    copy_memory({result.data(), {}}, {written[i].data(), device()}, result.bytes(), stream);
  }
}

/// Gives each output memory: the caller's, last run's where nobody holds it, else new.
void Context::State::place_results() {
  const Program& program = execution->program();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Value* value = program.graph().body().outputs()[i];
    if (program.results()[i].kind != Place::Kind::output) continue;
    Tensor& result = results[i].tensor;
    const Device wanted = results_device();
    if (given[i].defined()) {
      check_given(i, value->type.dtype(), value->type.shape());
      result = given[i];
    } else if (!result.defined() || result.owner().use_count() > 1 || result.device() != wanted) {
      result = Tensor::allocate(value->type.dtype(), value->type.shape(), {}, wanted);
    }
    execution->set_output(i, written_memory(i));
  }
}

void Context::State::check_given(std::size_t i, DType dtype, const Shape& shape) const {
  check(given[i].dtype() == dtype && given[i].shape() == shape, ErrorCode::invalid_argument,
        "output {}: memory for {}{} was bound, the run gives {}{}", engine->outputs[i].name,
        to_string(given[i].dtype()), given[i].shape().to_string(), to_string(dtype), shape.to_string());
}

/// Results whose size only the run told; to the caller's memory where there is some.
void Context::State::take_items(Stream stream) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_item(i)) continue;
    results[i] = execution->items()[execution->program().results()[i].index];
    if (!given[i].defined()) continue;
    const Tensor& made = results[i].tensor;
    check_given(i, made.dtype(), made.shape());
    copy_memory({given[i].data(), given[i].device()}, {const_cast<void*>(made.data()), made.device()},
                made.bytes(), stream);
    results[i] = Item(given[i]);
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
  state->staged.resize(state_->inputs.size());
  state->written.resize(state_->outputs.size());
  state->results.resize(state_->outputs.size());
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
  Tensor& held = state.filled[i];
  state.bound[i] = {};
  if (!held.defined() || held.shape() != shape || held.dtype() != chosen->dtype ||
      held.owner().use_count() > 1)
    held = Tensor::allocate(chosen->dtype, shape, {}, state.device());
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
  state.results[i] = {};
}

void Context::unbind() noexcept {
  State& state = *state_;
  std::fill(state.bound.begin(), state.bound.end(), Item{});
  std::fill(state.input_changed.begin(), state.input_changed.end(), true);
  // Values of the last run may share memory with what was bound.
  for (std::size_t i = 0; i < state.results.size(); ++i)
    if (state.given[i].defined() || (state.execution && state.is_item(i))) state.results[i] = {};
  std::fill(state.given.begin(), state.given.end(), Tensor{});
  if (state.execution) std::ranges::fill(state.execution->items(), Item{});
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

void Context::State::queue(Stream stream, const Control& control) {
  const AccountScope charged(account);
  const DeadlineScope deadline(engine->limits);
  choose_program(control);
  const cuda::Queueing queueing(device());
  give_inputs(stream);
  place_results();
  execution->run({stream, threads, control, profiled ? &times : nullptr});
  if (!device().is_host()) fetch_results(stream);
  take_items(stream);
  ++runs;
}

Item Context::output(std::string_view name) const {
  const Item& result = state_->results[state_->output(name)];
  check(state_->runs > 0, ErrorCode::invalid_argument, "output {}: nothing has run yet", name);
  return result;
}

std::map<std::string, Item> Context::operator()(const std::map<std::string, Item>& inputs,
                                                const Control& control) {
  for (const auto& [name, item] : inputs) bind(name, item);
  run({}, control);
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
    const std::string op = shown_kind(node);
    profiles.push_back({node.output()->name(), op, node.tactic.kernel, node.tactic.backend, node.sources,
                        steps[i].bytes, steps[i].flops, state_->runs, state_->times[i]});
  }
  return profiles;
}

} // namespace lanner
