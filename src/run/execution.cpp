#include "run/execution.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "graph/op.h"
#include "ops/control_flow.h"
#include "ops/interpreter.h"
#include "plan/lowered.h"

namespace lanner {

namespace {
using Clock = std::chrono::steady_clock;

/// For messages, as models' readers know it.
std::string named(const Node& node) {
  return fmt::format("node {} ({})", node.label(), shown_kind(node));
}
bool lies_in(const Tensor& tensor, const Tensor& memory) {
  const auto* first = static_cast<const std::byte*>(memory.data());
  const auto* at = static_cast<const std::byte*>(tensor.data());
  return at >= first && at < first + memory.bytes();
}

/// Who says nothing of weights gets them as they are now, and a ring where some are streamed.
Arenas completed(Arenas arenas, const Program& program) {
  if (arenas.weights) return arenas;
  arenas.weights = program.weights();
  if (arenas.weights->ring_bytes == 0) return arenas;
  struct Held {
    std::shared_ptr<const PlacedWeights> weights;
    std::shared_ptr<void> ring; ///< Given back first, which waits for copies from the others.
  };
  auto held = std::make_shared<Held>(
      Held{arenas.weights, allocate_memory(program.device(), arenas.weights->ring_bytes)});
  arenas.ring = static_cast<std::byte*>(held->ring.get());
  arenas.weights = {held, held->weights.get()};
  return arenas;
}

/// A sequence or a tensor of unknown size may hold an operand for longer than the arena does.
Item owned(Item item, std::span<const Tensor> borrowed) {
  if (item.tensor.defined() &&
      std::ranges::any_of(borrowed, [&](const Tensor& memory) { return lies_in(item.tensor, memory); }))
    item.tensor = item.tensor.clone();
  if (!item.is_sequence()) return item;
  std::vector<Item> elements;
  bool same = true;
  for (const Item& element : *item.items) {
    elements.push_back(owned(element, borrowed));
    same = same && elements.back().tensor.data() == element.tensor.data() &&
           elements.back().items == element.items;
  }
  return same ? item : ops::sequence_of(std::move(elements));
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
    const Place& place = run.inputs()[i];
    if (place.kind == Place::Kind::input) input_readers_[place.index].push_back({i, place.offset});
    if (place.kind == Place::Kind::output) output_readers_[place.index].push_back({i, place.offset});
  }
  for (std::size_t i = 0; i < run.outputs().size(); ++i) {
    const Place& place = run.outputs()[i];
    if (place.kind == Place::Kind::input) input_writers_[place.index].push_back({i, place.offset});
    if (place.kind == Place::Kind::output) output_writers_[place.index].push_back({i, place.offset});
  }
  fix_pointers();
  make_region_steps();
  if (run.streams() > 1 || run.devices().size() > 1) lanes_ = std::make_unique<Lanes>(run);
  if (!arenas_.weights->blocks.empty())
    weight_stream_ = std::make_unique<WeightStream>(run, arenas_.weights, arenas_.ring);
}

Execution::Execution(Execution&&) noexcept = default;
Execution::~Execution() = default;

void Execution::make_region_steps() {
  std::byte* base = program().device().is_host() ? arenas_.device : arenas_.host;
  region_steps_.resize(program().steps().size());
  for (std::size_t s = 0; s < region_steps_.size(); ++s)
    if (const Step& step = program().steps()[s]; step.bodies)
      region_steps_[s] = make_region_step(step, base + step.workspace);
}

void Execution::fix_pointers() {
  const Program& run = program();
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = resolve(run.inputs()[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = resolve(run.outputs()[i]);
  point_into_ring();
}

/// A step reads its streamed weights where they are copied to for it.
void Execution::point_into_ring() {
  const PlacedWeights& weights = *arenas_.weights;
  for (const WeightBlock& block : weights.blocks) {
    const Step& step = program().steps()[block.step];
    for (const auto& copy : std::span(weights.copies).subspan(block.first_copy, block.copies))
      for (std::size_t i = step.first_input; i < step.first_input + step.inputs; ++i)
        if (const Place& place = program().inputs()[i];
            place.kind == Place::Kind::constant && place.index == copy.constant)
          inputs_[i] = arenas_.ring + copy.offset + place.offset;
  }
}

void* Execution::resolve(const Place& place) const {
  switch (place.kind) {
  case Place::Kind::arena:
    return arena(place.index) + place.offset;
  case Place::Kind::host_arena:
    return arenas_.host + place.offset;
  case Place::Kind::constant:
    return const_cast<std::byte*>(
               static_cast<const std::byte*>(arenas_.weights->constants[place.index].data())) +
           place.offset;
  default:
    return nullptr;
  }
}

void Execution::patch(const std::vector<Patch>& readers, const std::vector<Patch>& writers,
                      std::byte* memory) {
  const auto give = [&](auto& pointers, const Patch& place) {
    std::byte* pointer = memory + place.offset;
    if (pointers[place.argument] == pointer) return;
    pointers[place.argument] = pointer;
    recording_.forget();
  };
  for (const Patch& place : readers) give(inputs_, place);
  for (const Patch& place : writers) give(outputs_, place);
}

void Execution::set_input(std::size_t index, const void* memory) {
  patch(input_readers_[index], input_writers_[index], static_cast<std::byte*>(const_cast<void*>(memory)));
}

void Execution::set_output(std::size_t index, void* memory) {
  patch(output_readers_[index], output_writers_[index], static_cast<std::byte*>(memory));
}

void Execution::run(const RunRequest& request) {
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
      synchronize(run.device(), request.stream);
      for (const Step& step : steps) run_step(step, request);
      continue;
    }
    if (!segment.recorded) {
      for (const Step& step : steps) launch(step, request.stream, false);
      continue;
    }
    recording_.queue(run.device(), s, request.stream,
                     [&](Stream stream, bool ordered) { queue(segment, stream, ordered); });
  }
}

void Execution::queue(const Segment& segment, Stream stream, bool ordered) {
  if (weight_stream_ && weight_stream_->serves(segment))
    return weight_stream_->queue(segment, stream,
                                 [&](const Step& step, Stream own) { launch(step, own, ordered); });
  if (lanes_)
    return lanes_->queue(segment, stream, [&](const Step& step, Stream own) { launch(step, own, ordered); });
  for (const Step& step : program().steps().subspan(segment.first, segment.steps))
    launch(step, stream, ordered);
}

/// Each step alone, whatever its stream, and one event a step: a step on the host shows as the time until the
/// next one is queued.
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

/// Each GPU has a stream; where one needs what another does, its stream waits for an event.
void Execution::run_on_gpus(const RunRequest& request) {
  const auto run = [&] {
    if (request.times) return run_timed_on_gpus(request);
    recording_.begin_run();
    lanes_->reach(0, request.stream);
    for (std::size_t s = 0; s < program().segments().size(); ++s) run_segment(s, request);
  };
  try {
    run();
  } catch (...) {
    lanes_->abandon(request.stream);
    throw;
  }
}

void Execution::run_segment(std::size_t number, const RunRequest& request) {
  const Program& run = program();
  const Segment& segment = run.segments()[number];
  const Device device = run.devices()[static_cast<std::size_t>(segment.stream)];
  const cuda::Current current(cuda::Gpu::get(device));
  const Stream stream = lanes_->stream(segment.stream, request.stream);
  lanes_->wait(stream, segment.first_before, segment.before);
  const auto steps = run.steps().subspan(segment.first, segment.steps);
  if (!segment.on_stream) {
    synchronize(device, stream);
    for (const Step& step : steps) run_step(step, request);
  } else if (!segment.recorded) {
    for (const Step& step : steps) launch(step, stream, false);
  } else {
    recording_.queue(device, number, stream, [&](Stream own, bool ordered) {
      for (const Step& step : steps) launch(step, own, ordered);
    });
  }
  if (segment.event != 0) lanes_->reach(segment.event, stream);
}

/// Each step alone, which begins when all before it has ended on every device.
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
    const Stream stream = lanes_->stream(step.stream, request.stream);
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
                 step.bodies ? run_regions(step, request) : interpret(step, request);
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
  const Place& place = program().inputs()[step.first_input + i];
  if (place.kind == Place::Kind::item) return {nullptr, &items_[place.index], &value->type};
  if (is_planned(*value)) return {inputs_[step.first_input + i], nullptr, &value->type};
  Item& constant = constant_items_[place.index];
  constant.tensor = program().constants()[place.index];
  return {nullptr, &constant, &value->type};
}

void Execution::run_regions(const Step& step, const RunRequest& request) {
  const Program& run = program();
  constant_items_.resize(run.constants().size());
  operands_.clear();
  outlets_.clear();
  for (std::size_t i = 0; i < step.inputs; ++i) operands_.push_back(operand(step, i));
  for (std::size_t i = 0; i < step.outputs; ++i) {
    const Place& place = run.outputs()[step.first_output + i];
    StepOutput outlet{nullptr, nullptr, &step.node->output(i)->type};
    if (place.kind == Place::Kind::item)
      outlet.item = &items_[place.index];
    else
      outlet.memory = outputs_[step.first_output + i];
    outlets_.push_back(outlet);
  }
  region_steps_[static_cast<std::size_t>(&step - run.steps().data())]->run(operands_, outlets_, request);
}

/// Runs one node by its definition. Planned values go in as views and come out by copy.
void Execution::interpret(const Step& step, const RunRequest& request) {
  const Program& run = program();
  const Node& node = *step.node;
  std::vector<Item> held(step.inputs);
  std::vector<const Item*> arguments(step.inputs, nullptr);
  std::vector<Tensor> borrowed;
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
      borrowed.push_back(held[i].tensor);
      arguments[i] = &held[i];
    }
  }
  std::vector<Item> results =
      run_node(node, arguments, {.threads = request.threads, .control = &request.control});
  for (std::size_t i = 0; i < step.outputs; ++i) {
    const Place& place = run.outputs()[step.first_output + i];
    if (place.kind == Place::Kind::item) {
      items_[place.index] = owned(std::move(results[i]), borrowed);
    } else if (results[i].tensor.defined()) {
      check(results[i].tensor.shape() == node.output(i)->type.shape(), ErrorCode::internal,
            "{}: inferred {}, computed {}", node.label(), node.output(i)->type.to_string(),
            results[i].tensor.shape().to_string());
      std::memcpy(outputs_[step.first_output + i], results[i].tensor.data(), results[i].tensor.bytes());
    }
  }
}

} // namespace lanner
