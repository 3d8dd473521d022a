#include "engine/tuner.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/file.h"
#include "base/hash.h"
#include "device/cuda/gpu.h"
#include "graph/op.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t cache_entries_limit = 1 << 20;

std::string attribute_text(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>)
          return fmt::format("{}{}", to_string(value.dtype()), value.shape().to_string());
        else if constexpr (std::is_same_v<T, Type>)
          return value.to_string();
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(to_string(value));
        else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                           std::is_same_v<T, std::string>)
          return fmt::format("{}", value);
        else
          return fmt::format("[{}]", fmt::join(value, ","));
      },
      attribute);
}

std::string storage_text(const Storage& storage) {
  return fmt::format("{}:{}:{}:{}", storage.dtype ? to_string(*storage.dtype) : "",
                     storage.layout.to_string(), storage.device.to_string(), storage.scale);
}

void append(std::string& text, const Node& node, std::map<const Value*, std::size_t>& numbers) {
  text += node.kind() + "{";
  for (const auto& [name, value] : node.attributes)
    text += fmt::format("{}={};", name, attribute_text(value));
  text += "}(";
  for (const Value* input : node.inputs()) {
    if (!input) {
      text += "_,";
      continue;
    }
    const auto [place, fresh] = numbers.emplace(input, numbers.size());
    text += fmt::format("{}", place->second);
    if (fresh)
      text += fmt::format(":{}{}@{}", input->type.to_string(), input->constant() ? "c" : "",
                          storage_text(input->storage));
    text += ",";
  }
  text += ")";
  for (const auto& region : node.regions()) {
    text += "[";
    for (const auto& parameter : region->parameters()) numbers.emplace(parameter.get(), numbers.size());
    for (const auto& inner : region->nodes()) append(text, *inner, numbers);
    for (const Value* output : region->outputs()) text += fmt::format(">{}", numbers[output]);
    text += "]";
  }
  for (const auto& output : node.outputs()) {
    numbers.emplace(output.get(), numbers.size());
    text += fmt::format(":{}@{}", output->type.to_string(), storage_text(output->storage));
  }
}

/// Small positive numbers: no denormals and no overflow, which would change a kernel's time.
void fill(Tensor& tensor) {
  const std::uint64_t bytes = tensor.bytes();
  if (tensor.dtype() == DType::f32) {
    float* data = static_cast<float*>(tensor.data());
    for (std::uint64_t i = 0; i < bytes / 4; ++i) data[i] = 0.001f * static_cast<float>(i % 1009);
  } else {
    std::fill_n(static_cast<unsigned char*>(tensor.data()), bytes, static_cast<unsigned char>(0));
  }
}

/// Times one launch, on a GPU by events of a stream that nothing else uses.
class Stopwatch {
public:
  Stopwatch(const Kernel& kernel, const Target& target) : kernel_(kernel) {
    if (!kernel.on_stream()) return;
    const cuda::Gpu& gpu = cuda::Gpu::get(target.device);
    current_ = std::make_unique<cuda::Current>(gpu);
    stream_ = std::make_unique<cuda::OwnedStream>(gpu);
    start_ = std::make_unique<cuda::Event>(gpu, true);
    stop_ = std::make_unique<cuda::Event>(gpu, true);
  }
  double run(Launch launch) const {
    if (!stream_) {
      const auto start = Clock::now();
      kernel_.launch(launch);
      return std::chrono::duration<double>(Clock::now() - start).count();
    }
    launch.stream = stream_->stream();
    start_->record(stream_->handle());
    kernel_.launch(launch);
    stop_->record(stream_->handle());
    stop_->synchronize();
    return cuda::Event::seconds(*start_, *stop_);
  }

private:
  const Kernel& kernel_;
  std::unique_ptr<cuda::Current> current_;
  std::unique_ptr<cuda::OwnedStream> stream_;
  std::unique_ptr<cuda::Event> start_, stop_;
};

} // namespace

std::string signature(const Node& node) {
  std::string text;
  std::map<const Value*, std::size_t> numbers;
  append(text, node, numbers);
  return text;
}

TimingCache::TimingCache(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  std::ifstream in(file_);
  std::string line;
  while (std::getline(in, line) && entries_.size() < cache_entries_limit) {
    std::istringstream fields(line);
    std::string key;
    double seconds = 0;
    if (fields >> key >> seconds && key.size() == 32 && seconds > 0 && seconds < 1e6) entries_[key] = seconds;
  }
}

std::optional<double> TimingCache::find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void TimingCache::insert(const std::string& key, double seconds) {
  entries_[key] = seconds;
  changed_ = true;
}

void TimingCache::save() {
  if (!changed_ || file_.empty()) return;
  try {
    std::filesystem::create_directories(file_.parent_path());
    for (const auto& [key, seconds] : TimingCache(file_).entries_) entries_.emplace(key, seconds);
    std::string text;
    for (const auto& [key, seconds] : entries_) text += fmt::format("{} {:.9g}\n", key, seconds);
    write_file(file_, std::as_bytes(std::span(text)));
    changed_ = false;
  } catch (const std::exception&) {
    // A cache that cannot be kept costs time at the next build, no more.
  }
}

Tuner::Tuner(Target target, double budget, TimingCache& cache, PackedConstants& constants,
             const Control& control)
    : target_(std::move(target)), budget_(budget), cache_(cache), constants_(constants), control_(control) {}

std::string Tuner::key(const Node& node, const Backend& backend, const Tactic& tactic) const {
  std::string text = fmt::format("{}|{}|{}|{}|{}|", target_.isa, target_.threads, backend.name(),
                                 tactic.kernel, signature(node));
  for (const Storage& storage : tactic.inputs) text += storage_text(storage) + ",";
  for (const Storage& storage : tactic.outputs) text += ">" + storage_text(storage);
  text.append(reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size());
  return hash_hex(std::as_bytes(std::span(text)));
}

Cost Tuner::cost(const Node& node, const Backend& backend, const Tactic& tactic, double best) {
  if (!measures()) return {tactic.estimate, false};
  control_.cancel.check();
  const std::string name = key(node, backend, tactic);
  if (const auto known = cache_.find(name)) return {*known, true};
  if (spent_ >= budget_) return {tactic.estimate, false};
  const auto start = Clock::now();
  const double seconds = measure(node, backend, tactic, best);
  spent_ += std::chrono::duration<double>(Clock::now() - start).count();
  cache_.insert(name, seconds);
  return {seconds, true};
}

TacticList Tuner::more_tactics(const Node& node, const Backend& backend) {
  if (!measures() || spent_ >= budget_) return {};
  control_.cancel.check();
  const auto start = Clock::now();
  TacticList more = backend.more_tactics(node, target_);
  spent_ += std::chrono::duration<double>(Clock::now() - start).count();
  return more;
}

double Tuner::measure(const Node& node, const Backend& backend, const Tactic& tactic, double best) {
  std::vector<Tensor> held;
  std::vector<const Tensor*> constants(node.inputs().size(), nullptr);
  std::vector<const void*> inputs(node.inputs().size(), nullptr);
  std::vector<void*> outputs;
  held.reserve(node.inputs().size() + node.outputs().size() + 1);
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* value = node.inputs()[i];
    if (!value) continue;
    const Storage& storage = tactic.inputs.at(i);
    const Tensor* constant = value->constant();
    held.push_back(constant ? constants_.get(*constant, storage) : scratch(*value, storage, i));
    if (constant) constants[i] = &held.back();
    inputs[i] = constant ? constants_.on(held.back(), storage.device).data() : held.back().data();
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const bool shared = i == 0 && tactic.required_in_place;
    held.push_back(scratch(*node.output(i), tactic.outputs.at(i), 1000 + i));
    outputs.push_back(shared ? const_cast<void*>(inputs.at(static_cast<std::size_t>(tactic.in_place)))
                             : held.back().data());
  }
  const std::unique_ptr<Kernel> kernel = backend.prepare(node, tactic, constants, target_);
  Tensor workspace = Tensor::allocate(DType::u8, {static_cast<std::int64_t>(kernel->workspace())}, {},
                                      kernel->on_stream() ? target_.device : Device{});
  return time(*kernel, {inputs, outputs, workspace.data(), {}}, best);
}

double Tuner::time(const Kernel& kernel, const Launch& launch, double best) const {
  const Stopwatch watch(kernel, target_);
  watch.run(launch); // first touch, code generation, page faults
  // The fastest of several: what else runs on the machine only ever adds time, and a team of threads waits
  // for its slowest.
  double fastest = 1e30, total = 0;
  for (int run = 0; run < 15 && (run < 4 || total < 0.03); ++run) {
    const double seconds = watch.run(launch);
    fastest = std::min(fastest, seconds);
    total += seconds;
    if (run >= 3 && fastest > 2.5 * best) break;
  }
  return std::max(fastest, 1e-9);
}

Tensor Tuner::scratch(const Value& value, const Storage& storage, std::size_t index) {
  const Shape shape = value.type.shape();
  const DType type = storage.dtype.value_or(value.type.dtype());
  const std::uint64_t bytes = storage.layout.bytes(shape, type);
  Tensor& block = scratch_[{index, storage.device}];
  if (!block.defined() || block.bytes() < bytes || block.dtype() != type) {
    block = Tensor::allocate(type, {static_cast<std::int64_t>(std::max<std::uint64_t>(
                                       bytes * 8 / std::max<std::size_t>(bit_width(type), 1), 1))});
    fill(block);
    block = block.to(storage.device);
  }
  return Tensor::wrap(block.data(), type, shape, block.owner(), storage.layout, storage.device);
}

} // namespace lanner
