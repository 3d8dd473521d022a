#include "run/execution.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "ops/control/control_flow.h"
#include "ops/interpreter/interpreter.h"
#include "ops/movement/movement_rules.h"
#include "program/lowered/lowered.h"
#include "run/late_kernels.h"

namespace lanner {

namespace {
using Clock = std::chrono::steady_clock;

/// Name of a node for messages.
std::string named(const Node& node) {
  return fmt::format("node {} ({})", node.label(), shown_kind(node));
}
bool lies_in(const Tensor& tensor, const Tensor& memory) {
  const auto* first = static_cast<const std::byte*>(memory.data());
  const auto* at = static_cast<const std::byte*>(tensor.data());
  return at >= first && at < first + memory.bytes();
}

/// Arenas without weights get the current ones, and a ring where some are streamed.
Arenas completed(Arenas arenas, const Program& program) {
  if (arenas.weights) return arenas;
  arenas.weights = program.weights();
  if (arenas.weights->ring_bytes == 0) return arenas;
  struct Held {
    std::shared_ptr<const WeightLocations> weights;
    std::shared_ptr<void> ring; ///< Freed first, which waits for copies from the weights.
  };
  auto held = std::make_shared<Held>(
      Held{arenas.weights, allocate_memory(program.device(), arenas.weights->ring_bytes)});
  arenas.ring = static_cast<std::byte*>(held->ring.get());
  arenas.weights = {held, held->weights.get()};
  return arenas;
}

/// Copies tensors that share borrowed memory: a sequence or a tensor of unknown size may outlive an operand
/// in the arena.
Item owned(Item item, std::span<const Tensor> borrowed, const Transfers& transfers) {
  if (item.tensor.defined() &&
      std::ranges::any_of(borrowed, [&](const Tensor& memory) { return lies_in(item.tensor, memory); }))
    item.tensor = transfers.clone(item.tensor);
  if (!item.is_sequence()) return item;
  std::vector<Item> elements;
  bool same = true;
  for (const Item& element : *item.items) {
    elements.push_back(owned(element, borrowed, transfers));
    same = same && elements.back().tensor.data() == element.tensor.data() &&
           elements.back().items == element.items;
  }
  return same ? item : ops::sequence_of(std::move(elements));
}

/// A view of GPU memory with the node's output shape.
Item renamed(const Node& node, std::span<const Item* const> arguments) {
  const std::vector<Type> types = infer_node(node, arguments);
  check(types[0].is_static(), ErrorCode::invalid_argument,
        "the size of output 0, {}, does not follow from its inputs", types[0].to_string());
  Item item(arguments[0]->tensor.reshaped(types[0].shape()));
  check_fits(item, node.output()->type, "%" + node.output()->name());
  return item;
}
} // namespace

Execution::Execution(std::shared_ptr<const Program> program_to_run, const Arenas& arenas)
    : program_(std::move(program_to_run)), arenas_(completed(arenas, *program_)) {
  const Program& run = program();
  input_readers_.resize(run.graph().body().parameters().size());
  input_writers_.resize(input_readers_.size());
  output_readers_.resize(run.results().size());
  output_writers_.resize(run.results().size());
  inputs_.assign(run.inputs().size(), nullptr);
  outputs_.assign(run.outputs().size(), nullptr);
  items_.resize(run.items());
  for (std::size_t i = 0; i < run.inputs().size(); ++i) {
    const ValueLocation& location = run.inputs()[i];
    if (location.kind == ValueLocation::Kind::input)
      input_readers_[location.index].push_back({i, location.offset});
    if (location.kind == ValueLocation::Kind::output)
      output_readers_[location.index].push_back({i, location.offset});
  }
  for (std::size_t i = 0; i < run.outputs().size(); ++i) {
    const ValueLocation& location = run.outputs()[i];
    if (location.kind == ValueLocation::Kind::input)
      input_writers_[location.index].push_back({i, location.offset});
    if (location.kind == ValueLocation::Kind::output)
      output_writers_[location.index].push_back({i, location.offset});
  }
  fix_pointers();
  make_region_steps();
  find_last_uses();
  if (run.streams() > 1 || run.devices().size() > 1) run_streams_ = std::make_unique<RunStreams>(run);
  if (!arenas_.weights->blocks.empty())
    weight_stream_ = std::make_unique<WeightStream>(run, arenas_.weights, arenas_.ring);
}

Execution::Execution(Execution&&) noexcept = default;
Execution::~Execution() = default;

void Execution::make_region_steps() {
  region_steps_.resize(program().steps().size());
  for (std::size_t s = 0; s < region_steps_.size(); ++s) {
    const Step& step = program().steps()[s];
    if (!step.subprograms) continue;
    const bool on_device = step.subprograms->device == program().device();
    region_steps_[s] =
        make_region_step(step, {(on_device ? arenas_.device : arenas_.host) + step.workspace,
                                on_device && arenas_.host ? arenas_.host + step.host_workspace : nullptr});
  }
}

/// Lifetimes of values of data-dependent size, which are not in an arena. Inputs and results belong to the
/// caller.
void Execution::find_last_uses() {
  const Program& run = program();
  std::vector<bool> kept(run.items(), false);
  for (const auto locations : {run.input_items(), run.results()})
    for (const ValueLocation& location : locations)
      if (location.kind == ValueLocation::Kind::item) kept[location.index] = true;
  last_uses_.resize(run.steps().size());
  for (std::size_t s = run.steps().size(); s-- > 0;) {
    const Step& step = run.steps()[s];
    for (const auto locations : {run.inputs().subspan(step.first_input, step.inputs),
                                 run.outputs().subspan(step.first_output, step.outputs)})
      for (const ValueLocation& location : locations) {
        if (location.kind != ValueLocation::Kind::item || kept[location.index]) continue;
        kept[location.index] = true;
        last_uses_[s].push_back(location.index);
      }
  }
}

/// Drops references to the last run's results, which belong to the caller.
void Execution::let_go_of_results() {
  for (const Step& step : program().steps())
    for (const ValueLocation& location : program().outputs().subspan(step.first_output, step.outputs))
      if (location.kind == ValueLocation::Kind::item) items_[location.index] = {};
}

/// Releases items that later steps do not need, so that those can reuse their memory.
void Execution::let_go(const Step& step) {
  for (const std::uint32_t item : last_uses_[static_cast<std::size_t>(&step - program().steps().data())])
    items_[item] = {};
}

void Execution::fix_pointers() {
  const Program& run = program();
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = resolve(run.inputs()[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = resolve(run.outputs()[i]);
  point_into_ring();
}

/// Points a step's streamed weights to their slice of the ring.
void Execution::point_into_ring() {
  const WeightLocations& weights = *arenas_.weights;
  for (const WeightBlock& block : weights.blocks) {
    const Step& step = program().steps()[block.step];
    for (const auto& copy : std::span(weights.copies).subspan(block.first_copy, block.copies))
      for (std::size_t i = step.first_input; i < step.first_input + step.inputs; ++i)
        if (const ValueLocation& location = program().inputs()[i];
            location.kind == ValueLocation::Kind::constant && location.index == copy.constant)
          inputs_[i] = arenas_.ring + copy.offset + location.offset;
  }
}

void* Execution::resolve(const ValueLocation& location) const {
  switch (location.kind) {
  case ValueLocation::Kind::arena:
    return arena(location.index) + location.offset;
  case ValueLocation::Kind::host_arena:
    return arenas_.host + location.offset;
  case ValueLocation::Kind::constant:
    return const_cast<std::byte*>(
               static_cast<const std::byte*>(arenas_.weights->constants[location.index].data())) +
           location.offset;
  default:
    return nullptr;
  }
}

void Execution::patch(const std::vector<Patch>& readers, const std::vector<Patch>& writers,
                      std::byte* memory) {
  const auto give = [&](auto& pointers, const Patch& patch) {
    std::byte* pointer = memory + patch.offset;
    if (pointers[patch.argument] == pointer) return;
    pointers[patch.argument] = pointer;
    recording_.forget();
  };
  for (const Patch& patch : readers) give(inputs_, patch);
  for (const Patch& patch : writers) give(outputs_, patch);
}

void Execution::set_input(std::size_t index, const void* memory) {
  patch(input_readers_[index], input_writers_[index], static_cast<std::byte*>(const_cast<void*>(memory)));
}

void Execution::set_output(std::size_t index, void* memory) {
  patch(output_readers_[index], output_writers_[index], static_cast<std::byte*>(memory));
}

void Execution::run(const RunRequest& given) {
  RunRequest request = given;
  if (!items_.empty()) let_go_of_results();
  if (!request.memory) {
    memory_.begin_run();
    request.memory = &memory_;
  }
  if (program().device().is_host()) return run_on_host(request);
  const cuda::Current current(cuda::Gpu::get(program().device()));
  if (program().devices().size() > 1) return run_on_gpus(request);
  if (request.times) return run_timed(request);
  run_on_gpu(request);
}

void Execution::run_on_host(const RunRequest& request) {
  std::size_t number = 0;
  for (const Step& step : program().steps()) {
    const auto start = request.times ? Clock::now() : Clock::time_point{};
    run_step(step, request);
    if (request.times)
      (*request.times)[number++] += std::chrono::duration<double>(Clock::now() - start).count();
  }
}

void Execution::run_on_gpu(const RunRequest& request) {
  const Program& run = program();
  recording_.begin_run();
  for (std::size_t s = 0; s < run.segments().size(); ++s) {
    const Segment& segment = run.segments()[s];
    const auto steps = run.steps().subspan(segment.first, segment.steps);
    if (!segment.on_stream) {
      for (const Step& step : steps) {
        if (waits(step)) synchronize(run.device(), request.stream);
        run_step(step, request);
      }
      continue;
    }
    if (!segment.recorded) {
      for (const Step& step : steps) run_step(step, request);
      continue;
    }
    recording_.queue(run.device(), s, request.stream,
                     [&](Stream stream, bool ordered) { queue(segment, stream, ordered); });
  }
}

/// Whether a step of the host reads or writes memory that queued work may still write or read. Items are
/// complete, or are copied with a wait.
bool Execution::waits(const Step& step) const {
  if (step.kernel || step.subprograms) return true;
  const auto planned = [](const Value* value) {
    return value && is_planned(*value) && !value->constant() && value->storage.device.is_host();
  };
  return std::ranges::any_of(step.node->inputs(), planned) ||
         std::ranges::any_of(step.node->outputs(), [&](const auto& value) { return planned(value.get()); });
}

void Execution::queue(const Segment& segment, Stream stream, bool ordered) {
  if (weight_stream_ && weight_stream_->serves(segment))
    return weight_stream_->queue(segment, stream,
                                 [&](const Step& step, Stream own) { launch(step, own, ordered); });
  if (run_streams_)
    return run_streams_->queue(segment, stream,
                               [&](const Step& step, Stream own) { launch(step, own, ordered); });
  for (const Step& step : program().steps().subspan(segment.first, segment.steps))
    launch(step, stream, ordered);
}

/// Runs each step alone, whatever its stream, with one event a step: the time of a host step is that until
/// the next one is queued.
void Execution::run_timed(const RunRequest& request) {
  const cuda::Gpu& gpu = cuda::Gpu::get(program().device());
  const auto queue = static_cast<cuda::StreamHandle>(request.stream.handle);
  std::vector<std::unique_ptr<cuda::Event>> events;
  for (std::size_t i = 0; i <= program().steps().size(); ++i)
    events.push_back(std::make_unique<cuda::Event>(gpu, true));
  events[0]->record(queue);
  std::size_t number = 0;
  for (const Step& step : program().steps()) {
    if (!step.on_stream) synchronize(program().device(), request.stream);
    if (weight_stream_) weight_stream_->copy_for(number, request.stream);
    run_step(step, request);
    events[++number]->record(queue);
  }
  events.back()->synchronize();
  for (std::size_t i = 0; i < number; ++i)
    (*request.times)[i] += cuda::Event::seconds(*events[i], *events[i + 1]);
}

/// Each GPU has a stream; dependences between GPUs are event waits.
void Execution::run_on_gpus(const RunRequest& request) {
  const auto run = [&] {
    if (request.times) return run_timed_on_gpus(request);
    recording_.begin_run();
    run_streams_->reach(0, request.stream);
    for (std::size_t s = 0; s < program().segments().size(); ++s) run_segment(s, request);
  };
  try {
    run();
  } catch (...) {
    run_streams_->abandon(request.stream);
    throw;
  }
}

void Execution::run_segment(std::size_t number, const RunRequest& request) {
  const Program& run = program();
  const Segment& segment = run.segments()[number];
  const Device device = run.devices()[static_cast<std::size_t>(segment.stream)];
  const cuda::Current current(cuda::Gpu::get(device));
  const Stream stream = run_streams_->stream(segment.stream, request.stream);
  run_streams_->wait(stream, segment.first_before, segment.before);
  const auto steps = run.steps().subspan(segment.first, segment.steps);
  if (!segment.on_stream) {
    synchronize(device, stream);
    for (const Step& step : steps) run_step(step, request);
    synchronize(device, stream); // work of subprograms and item copies has no event
  } else if (!segment.recorded) {
    for (const Step& step : steps) launch(step, stream, false);
  } else {
    recording_.queue(device, number, stream, [&](Stream own, bool ordered) {
      for (const Step& step : steps) launch(step, own, ordered);
    });
  }
  if (segment.event != 0) run_streams_->reach(segment.event, stream);
}

/// Each step alone: it begins when all before have ended on every device.
void Execution::run_timed_on_gpus(const RunRequest& request) {
  const Program& run = program();
  synchronize(run.device(), request.stream);
  for (std::size_t s = 0; s < run.steps().size(); ++s) {
    const Step& step = run.steps()[s];
    if (!step.on_stream) {
      const auto start = Clock::now();
      run_step(step, request);
      (*request.times)[s] += std::chrono::duration<double>(Clock::now() - start).count();
      continue;
    }
    request.control.cancel.check();
    const cuda::Gpu& gpu = cuda::Gpu::get(run.devices()[static_cast<std::size_t>(step.stream)]);
    const cuda::Current current(gpu);
    const Stream stream = run_streams_->stream(step.stream, request.stream);
    const auto queue = static_cast<cuda::StreamHandle>(stream.handle);
    cuda::Event begin(gpu, true), end(gpu, true);
    begin.record(queue);
    launch(step, stream, false);
    end.record(queue);
    end.synchronize();
    (*request.times)[s] += cuda::Event::seconds(begin, end);
  }
}

void Execution::run_step(const Step& step, const RunRequest& request) {
  request.control.cancel.check();
  with_context([&] { return named(*step.node); },
               [&] {
                 if (step.kernel) return launch(step, request.stream, false);
                 step.subprograms ? run_regions(step, request) : interpret(step, request);
                 let_go(step);
               });
}

void Execution::launch(const Step& step, Stream stream, bool ordered) const {
  const bool several = program().devices().size() > 1;
  std::byte* base = !step.on_stream && !program().device().is_host() ? arenas_.host
                    : several ? arena(static_cast<std::size_t>(step.stream))
                              : arenas_.device;
  step.kernel->launch({{inputs_.data() + step.first_input, step.inputs},
                       {outputs_.data() + step.first_output, step.outputs},
                       base + step.workspace,
                       stream,
                       ordered});
}

StepInput Execution::operand(const Step& step, std::size_t i) {
  const Value* value = step.node->inputs()[i];
  if (!value) return {};
  const ValueLocation& location = program().inputs()[step.first_input + i];
  if (location.kind == ValueLocation::Kind::item) return {nullptr, &items_[location.index], &value->type};
  if (is_planned(*value))
    return {inputs_[step.first_input + i], nullptr, &value->type, value->storage.device};
  Item& constant = constant_items_[location.index];
  constant.tensor = program().constants()[location.index];
  return {nullptr, &constant, &value->type};
}

void Execution::run_regions(const Step& step, const RunRequest& request) {
  const Program& run = program();
  constant_items_.resize(run.constants().size());
  operands_.clear();
  outlets_.clear();
  for (std::size_t i = 0; i < step.inputs; ++i) operands_.push_back(operand(step, i));
  for (std::size_t i = 0; i < step.outputs; ++i) {
    const ValueLocation& location = run.outputs()[step.first_output + i];
    const Value& value = *step.node->output(i);
    StepOutput outlet{nullptr, nullptr, &value.type, value.storage.device};
    if (location.kind == ValueLocation::Kind::item)
      outlet.item = &items_[location.index];
    else
      outlet.memory = outputs_[step.first_output + i];
    outlets_.push_back(outlet);
  }
  region_steps_[static_cast<std::size_t>(&step - run.steps().data())]->run(operands_, outlets_, request);
}

/// Input `i` for the interpreter, on whatever device it is.
Item Execution::argument(const Step& step, std::size_t i) const {
  const Value& value = *step.node->input(i);
  const ValueLocation& location = program().inputs()[step.first_input + i];
  if (location.kind == ValueLocation::Kind::item) return items_[location.index];
  if (location.kind == ValueLocation::Kind::constant) return Item(arenas_.weights->constants[location.index]);
  void* memory = const_cast<void*>(inputs_[step.first_input + i]);
  return Item(
      Tensor::wrap(memory, value.type.dtype(), value.type.shape(), nullptr, {}, value.storage.device));
}

/// Runs one node by its definition. Planned values are passed as views and results copied; operands that the
/// definition reads are copied to the host first. Pure data movement may stay on the device.
void Execution::interpret(const Step& step, const RunRequest& request) {
  const Transfers transfers(request);
  std::vector<Tensor> borrowed;
  std::vector<Item> results = computed(step, request, transfers, borrowed);
  for (std::size_t i = 0; i < step.outputs; ++i) {
    if (program().outputs()[step.first_output + i].kind == ValueLocation::Kind::item)
      results[i] = owned(std::move(results[i]), borrowed, transfers);
    give_result(step, i, std::move(results[i]), transfers);
  }
}

/// `borrowed` receives the tensors whose memory results may share without owning it.
std::vector<Item> Execution::computed(const Step& step, const RunRequest& request, const Transfers& transfers,
                                      std::vector<Tensor>& borrowed) const {
  const Node& node = *step.node;
  std::vector<Item> held(step.inputs);
  std::vector<const Item*> arguments(step.inputs, nullptr);
  for (std::size_t i = 0; i < step.inputs; ++i) {
    if (!node.inputs()[i]) continue;
    held[i] = argument(step, i);
    arguments[i] = &held[i];
  }
  if (auto results = run_late(program(), node, arguments, transfers)) return std::move(*results);
  for (std::size_t i = 0; i < step.inputs; ++i) {
    if (!arguments[i]) continue;
    if (!ops::hands_on(node, i)) held[i] = transfers.on(Device{}, held[i]);
    const ValueLocation::Kind kind = program().inputs()[step.first_input + i].kind;
    if (kind != ValueLocation::Kind::item && kind != ValueLocation::Kind::constant)
      borrowed.push_back(held[i].tensor);
  }
  if (ops::is_renamed(node) && !held[0].tensor.device().is_host()) return {renamed(node, arguments)};
  return run_node(node, arguments,
                  {.threads = request.threads, .control = &request.control, .hands_on = true});
}

void Execution::give_result(const Step& step, std::size_t i, Item item, const Transfers& transfers) {
  const ValueLocation& location = program().outputs()[step.first_output + i];
  const Value& value = *step.node->output(i);
  if (location.kind == ValueLocation::Kind::item) {
    items_[location.index] = std::move(item);
  } else if (item.tensor.defined()) {
    check(item.tensor.shape() == value.type.shape(), ErrorCode::internal, "{}: inferred {}, computed {}",
          step.node->label(), value.type.to_string(), item.tensor.shape().to_string());
    transfers.copy({outputs_[step.first_output + i], value.storage.device}, location_of(item.tensor),
                   item.tensor.bytes());
  }
}

} // namespace lanner
