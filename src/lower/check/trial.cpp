#include "lower/check/trial.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits/account.h"
#include "device/cpu.h"
#include "device/cuda/compare.h"
#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "device/parallel.h"
#include "graph/storage/within.h"
#include "lower/check/agreement.h"
#include "lower/check/trial_parts.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

/// NaN in every real type, then large numbers.
constexpr std::array<unsigned char, 2> poisons{0xFF, 0x55};
/// Above this many bytes results on a GPU are compared there.
constexpr std::uint64_t host_comparison = 1 << 18;

/// The node's constants as its tactic stores them; undefined for other inputs.
std::vector<Tensor> constants_of(const TrialSubject& subject, WeightStore& store) {
  std::vector<Tensor> held(subject.node.inputs().size());
  for (std::size_t i = 0; i < held.size(); ++i)
    if (const Value* input = subject.node.inputs()[i]; input && input->constant())
      held[i] = store.get(*input->constant(), subject.tactic.inputs.at(i));
  return held;
}

std::shared_ptr<const Kernel> prepared_with(const std::vector<Tensor>& constants,
                                            const TrialSubject& subject) {
  std::vector<const Tensor*> tensors;
  for (const Tensor& constant : constants) tensors.push_back(constant.defined() ? &constant : nullptr);
  return subject.backend.prepare(subject.node, subject.tactic, tensors, subject.target);
}

} // namespace

std::shared_ptr<const Kernel> Trial::prepared(const TrialSubject& subject, WeightStore& constants) {
  return prepared_with(constants_of(subject, constants), subject);
}

Trial::Trial(const TrialSubject& subject, TrialData& data, WeightStore& constants,
             std::shared_ptr<const Kernel> kernel)
    : subject_(subject), data_(data), constants_(constants), kernel_(std::move(kernel)) {
  held_ = constants_of(subject_, constants_);
  if (!kernel_) kernel_ = prepared_with(held_, subject_);
  open_stream();
}

Trial::Trial(const Trial& twin, TrialData& data)
    : subject_(twin.subject_), data_(data), constants_(twin.constants_), held_(twin.held_),
      kernel_(twin.kernel_) {
  open_stream();
}

std::unique_ptr<Trial> Trial::twin(TrialData& data) const {
  return std::unique_ptr<Trial>(new Trial(*this, data));
}

void Trial::open_stream() {
  if (!kernel_->on_stream()) return;
  const cuda::Gpu& gpu = cuda::Gpu::get(subject_.target.device);
  const cuda::Current current(gpu);
  stream_ = std::make_unique<cuda::OwnedStream>(gpu);
  start_ = std::make_unique<cuda::Event>(gpu, true);
  stop_ = std::make_unique<cuda::Event>(gpu, true);
}

Trial::~Trial() = default;

/// Makes the GPU's context current where the kernel needs one.
class Trial::Within {
public:
  explicit Within(const Trial& trial) {
    if (trial.stream_) current_.emplace(cuda::Gpu::get(trial.subject_.target.device));
  }

private:
  std::optional<cuda::Current> current_;
};

/// Collects operands and memory; after the definition ran, which may draw other operands.
void Trial::gather() {
  if (!inputs_.empty() || !outputs_.empty()) return;
  const Node& node = subject_.node;
  const Device own = stream_ ? subject_.target.device : Device{};
  inputs_.assign(node.inputs().size(), nullptr);
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (!node.inputs()[i]) continue;
    const Storage& storage = subject_.tactic.inputs.at(i);
    if (held_[i].defined()) {
      inputs_[i] = operands_.emplace_back(constants_.on(held_[i], storage.device)).data();
      continue;
    }
    const Tensor& tensor = operands_.emplace_back(data_.input(i, storage, node));
    inputs_[i] = tensor.data();
    if (!stream_ || !storage.device.is_host()) continue;
    pinned_.push_back(allocate_pinned(own, tensor.bytes()));
    std::memcpy(pinned_.back().get(), tensor.data(), tensor.bytes());
    inputs_[i] = pinned_.back().get();
  }
  for (std::size_t o = 0; o < node.outputs().size(); ++o) {
    const Value& value = *node.output(o);
    Output output;
    output.storage = subject_.tactic.outputs.at(o);
    output.shape = value.type.shape();
    output.type = output.storage.dtype.value_or(value.type.dtype());
    // All of the parent value where this is a part of one.
    const std::uint64_t bytes =
        output.storage.layout.bytes(memory_shape(output.storage, output.shape), output.type);
    output.block = std::make_unique<GuardedBlock>(bytes, output.storage.device, own);
    output.on_device = !output.storage.within && !output.storage.device.is_host() &&
                       bytes > host_comparison && bytes % 4 == 0 && cuda::can_compare();
    outputs_.push_back(std::move(output));
  }
  workspace_ = std::make_unique<GuardedBlock>(kernel_->workspace(), own, own);
}

Stream Trial::stream() const {
  return stream_ ? stream_->stream() : Stream{};
}

void Trial::synchronize_stream() const {
  if (stream_) stream_->synchronize();
}

void Trial::poison(unsigned char value) {
  poison_ = value;
  for (const Output& output : outputs_) output.block->fill(value, stream());
  workspace_->fill(value, stream());
}

Trial::Arguments Trial::arguments(bool in_place) const {
  Arguments arguments{inputs_, {}};
  for (const Output& output : outputs_) arguments.outputs.push_back(output.block->data());
  if (in_place)
    arguments.inputs.at(static_cast<std::size_t>(subject_.tactic.in_place)) = arguments.outputs.at(0);
  return arguments;
}

/// Copies the operand that the kernel overwrites in place to the memory of output 0.
void Trial::copy_operand() const {
  const auto i = static_cast<std::size_t>(subject_.tactic.in_place);
  const Output& output = outputs_.at(0);
  copy_memory({output.block->data(), output.storage.device},
              {const_cast<void*>(inputs_.at(i)), subject_.tactic.inputs.at(i).device}, output.block->bytes(),
              stream());
}

void Trial::launch(const Arguments& arguments, bool ordered) const {
  kernel_->launch({arguments.inputs, arguments.outputs, workspace_->data(), stream(), ordered});
}

Tensor Trial::result(const Output& output) const {
  return Tensor::wrap(output.block->data(), output.type, memory_shape(output.storage, output.shape), nullptr,
                      output.storage.layout, output.storage.device);
}

/// The output on the host; row-major if it is part of a larger value.
Tensor Trial::fetched(const Output& output) const {
  const Tensor whole = result(output).to(Device{});
  return output.storage.within ? part_within(whole, output.storage, output.shape) : whole;
}

/// Compares one output with the definition's.
Verdict Trial::judge(std::size_t o) const {
  const Output& output = outputs_[o];
  if (!output.expected.defined() || output.block->bytes() == 0) return {};
  const Tolerance& tolerance = output.tolerance;
  Difference difference;
  if (output.expected_on_device.defined()) {
    const cuda::Gpu& gpu = cuda::Gpu::get(output.storage.device);
    const cuda::DeviceDifference found =
        cuda::compare(gpu, *stream_,
                      {output.block->data(), to_string(output.type),
                       static_cast<const float*>(output.expected_on_device.data()),
                       static_cast<std::uint64_t>(output.shape.elements()),
                       static_cast<std::uint64_t>(output.expected_on_device.elements()),
                       static_cast<float>(tolerance.relative), static_cast<float>(tolerance.absolute),
                       output.type == DType::f16 ? 65504.0F : 3.38e38F});
    difference.elements = found.elements;
    difference.first = found.first;
    difference.compared = static_cast<std::uint64_t>(output.shape.elements());
    if (difference.within(tolerance)) return {};
  }
  // The GPU found a difference: compare on the host, which says where.
  Tensor got = fetched(output);
  if (output.storage.quantization)
    got = ops::reals_of(got, output.storage, output.expected.dtype(), data_.values(subject_.node));
  difference = compare(got, output.expected, tolerance);
  if (difference.within(tolerance)) return {};
  return {fmt::format("output {}: {}", o, difference.to_string())};
}

Verdict Trial::judge_all() const {
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    if (Verdict verdict = judge(o); !verdict.right()) return verdict;
  return {};
}

void Trial::keep_first() {
  for (Output& output : outputs_) {
    if (output.storage.within || output.storage.device.is_host()) {
      output.first_hash = hash_of(output);
      continue;
    }
    output.first = allocate_memory(output.storage.device, output.block->bytes());
    copy_memory({output.first.get(), output.storage.device}, {output.block->data(), output.storage.device},
                output.block->bytes(), stream());
  }
  synchronize_stream();
}

bool Trial::same_as_first(const Output& output) const {
  const std::uint64_t bytes = output.block->bytes();
  if (output.storage.within || output.storage.device.is_host()) return output.first_hash == hash_of(output);
  const void *first = output.first.get(), *now = output.block->data();
  if (output.on_device)
    return cuda::compare_words(cuda::Gpu::get(output.storage.device), *stream_, first, now, bytes / 4)
               .elements == 0;
  const auto fetched = [&](const void* memory) {
    std::vector<std::byte> copy(bytes);
    copy_memory({copy.data(), {}}, {const_cast<void*>(memory), output.storage.device}, bytes, stream());
    synchronize_stream();
    return copy;
  };
  return fetched(first) == fetched(now);
}

/// Hash instead of a copy: a copy of a large result would take one more activation's memory.
std::string Trial::hash_of(const Output& output) const {
  if (!output.storage.within) return hash_hex({output.block->data(), output.block->bytes()});
  const Tensor part = fetched(output);
  return hash_hex({static_cast<const std::byte*>(part.data()), part.bytes()});
}

/// A kernel must give the same bits for the same operands, whatever its memory held before.
Verdict Trial::compare_with_first() const {
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    if (!same_as_first(outputs_[o])) return {fmt::format("output {} differs from run to run", o)};
  return {};
}

Verdict Trial::check_guards() const {
  for (const Output& output : outputs_)
    if (!output.block->intact()) return {"it writes outside its output"};
  for (const Output& output : outputs_)
    if (output.storage.within &&
        !kept_between(result(output).to(Device{}), output.storage, output.shape, poison_))
      return {"it writes between the slices of its output"};
  if (!workspace_->intact()) return {"it writes outside its workspace"};
  return {};
}

bool Trial::may_run_in_place() const {
  const Tactic& tactic = subject_.tactic;
  if (tactic.in_place < 0) return false;
  const auto i = static_cast<std::size_t>(tactic.in_place);
  const Value* value = subject_.node.input(i);
  return value && !value->constant() &&
         storage_bytes(*value, tactic.inputs.at(i)) == outputs_.at(0).block->bytes();
}

/// A quantised result may be off by one step, so the reference is quantised and compared as reals.
void Trial::expect_quantized(Output& output, const Tensor& sample) const {
  const ops::StoredValues values = data_.values(subject_.node);
  const Tensor whole = repeated(sample, output.shape, of_type(sample.dtype()));
  Storage plain = output.storage;
  plain.layout = {};
  const Tensor stored = pack(whole, plain, values);
  output.expected = ops::reals_of(stored, plain, DType::f32, values);
  double step = 0;
  for (const double scale : ops::table_of(plain, output.shape, values).scale)
    step = std::max(step, std::abs(scale));
  output.tolerance.absolute += 1.001 * step;
}

void Trial::store_expected() {
  const std::vector<Tensor>& samples = data_.expected(subject_.tactic, subject_.node);
  const Tolerances tolerances(subject_.node, subject_.tactic);
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    Output& output = outputs_[o];
    if (!samples.at(o).defined()) continue; // nothing uses it
    output.tolerance = tolerances.of(samples[o]);
    if (output.storage.quantization) {
      expect_quantized(output, samples[o]);
      continue;
    }
    output.expected =
        as_stored(samples[o], output.shape, output.storage.within ? Layout{} : output.storage.layout);
    const bool on_gpu =
        output.on_device && output.expected.dtype() == DType::f32 && output.storage.layout.blocks.empty() &&
        (output.type == DType::f32 || output.type == DType::f16 || output.type == DType::bf16);
    if (on_gpu) output.expected_on_device = output.expected.to(output.storage.device);
  }
}

/// The first run and every third are launched directly, the others as a CUDA graph where possible, as a
/// context does.
void Trial::run(std::size_t number, bool in_place, std::unique_ptr<cuda::GraphExec>& graph) {
  const Arguments given = arguments(in_place);
  poison(poisons[number % poisons.size()]);
  if (in_place) copy_operand();
  if (number % 3 == 0 || !kernel_->recordable()) {
    launch(given, false);
  } else {
    if (!graph) {
      stream_->synchronize();
      graph =
          cuda::GraphExec::capture(cuda::Gpu::get(subject_.target.device), *stream_, [&](cuda::StreamHandle) {
            launch(given, cuda::GraphExec::keeps_order());
          });
    }
    graph->launch(stream_->handle());
  }
  synchronize_stream();
}

Verdict Trial::check(std::size_t runs) {
  static_cast<void>(data_.expected(subject_.tactic, subject_.node));
  gather();
  store_expected();
  const bool must = subject_.tactic.required_in_place;
  lanner::check(!must || may_run_in_place(), ErrorCode::internal,
                "tactic {} of {} works in place on an input of another size", subject_.tactic.kernel,
                subject_.node.label());
  const Within current(*this);
  std::unique_ptr<cuda::GraphExec> graph;
  for (std::size_t number = 0; number < runs; ++number) {
    run(number, must, graph);
    Verdict verdict = number == 0 ? judge_all() : compare_with_first();
    if (!verdict.right()) return verdict;
    if (number == 0) keep_first();
  }
  if (!must && may_run_in_place())
    if (Verdict verdict = check_in_place(std::max<std::size_t>(1, runs / 3)); !verdict.right())
      return verdict;
  return check_guards();
}

/// In place it may take another code path than out of place, so bits are not compared.
Verdict Trial::check_in_place(std::size_t runs) {
  std::unique_ptr<cuda::GraphExec> graph;
  for (std::size_t number = 0; number < runs; ++number) {
    run(number, true, graph);
    if (Verdict verdict = judge_all(); !verdict.right())
      return {fmt::format("in its input's memory: {}", verdict.wrong)};
  }
  return {};
}

void Trial::run_alone() {
  gather();
  const Within current(*this);
  std::unique_ptr<cuda::GraphExec> graph;
  run(0, subject_.tactic.required_in_place, graph);
  keep_first();
}

Verdict Trial::repeat(std::size_t runs) {
  const Within current(*this);
  std::unique_ptr<cuda::GraphExec> graph;
  for (std::size_t number = 0; number < runs; ++number) {
    run(number, subject_.tactic.required_in_place, graph);
    if (Verdict verdict = compare_with_first(); !verdict.right()) return verdict;
  }
  return check_guards();
}

void Trial::forget_results() {
  for (Output& output : outputs_) {
    output.expected = output.expected_on_device = {};
    output.first.reset();
    output.first_hash.clear();
  }
}

std::uint64_t Trial::held_bytes() {
  gather();
  std::uint64_t bytes = workspace_->bytes();
  for (const Output& output : outputs_) bytes += output.block->bytes();
  return bytes;
}

void Trial::record(const Arguments& given, int times) {
  if (recorded_times_ == times) return;
  stream_->synchronize();
  recorded_ =
      cuda::GraphExec::capture(cuda::Gpu::get(subject_.target.device), *stream_, [&](cuda::StreamHandle) {
        for (int i = 0; i < times; ++i) launch(given, cuda::GraphExec::keeps_order());
      });
  recorded_times_ = times;
}

/// Without the time that the weights' removal takes, on all threads, which stay awake for it.
double Trial::timed_cold(const Arguments& given, int times) const {
  constexpr std::int64_t part = 64 << 10;
  std::vector<std::span<const std::byte>> weights = kernel_->own_weights();
  for (const Tensor& constant : held_)
    if (constant.defined())
      weights.emplace_back(static_cast<const std::byte*>(constant.data()), constant.bytes());
  std::chrono::duration<double> sum{};
  for (int i = 0; i < times; ++i) {
    for (const std::span<const std::byte> block : weights)
      parallel_for(subject_.target.threads, 0, static_cast<std::int64_t>(block.size()), part,
                   [&](std::int64_t first, std::int64_t last) {
                     evict_from_caches(block.data() + first, static_cast<std::uint64_t>(last - first));
                   });
    const auto start = Clock::now();
    launch(given, true);
    sum += Clock::now() - start;
  }
  return sum.count() / times;
}

double Trial::timed(int times) {
  gather();
  const Within current(*this);
  const bool in_place = subject_.tactic.required_in_place;
  const Arguments given = arguments(in_place);
  if (in_place) copy_operand();
  const bool recorded = times > 1 && stream_ && kernel_->recordable();
  if (recorded) record(given, times);
  const auto run = [&] {
    if (recorded) return recorded_->launch(stream_->handle());
    for (int i = 0; i < times; ++i) launch(given, !stream_ || i == 0); // nothing runs before the first one
  };
  if (!stream_ && cold_) return timed_cold(given, times);
  if (!stream_) {
    const auto start = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - start).count() / times;
  }
  start_->record(stream_->handle());
  run();
  stop_->record(stream_->handle());
  stop_->synchronize();
  return cuda::Event::seconds(*start_, *stop_) / times;
}

double Trial::grain() const {
  constexpr double of_the_clock = 5e-5, of_a_launch = 2e-4;
  return stream_ ? of_a_launch : of_the_clock;
}

double Trial::launch() const {
  constexpr double at_most = 2e-5;
  return stream_ ? at_most : 0;
}

} // namespace lanner
