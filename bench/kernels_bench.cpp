// The most important kernels, each with its fastest tactic, with the share of the machine's peak that it
// reaches.
// Set LANNER_THREADS to choose the thread count.

#include <chrono>
#include <memory>
#include <random>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <lanner/threads.h>

#include "backends/backends.h"
#include "device/cpu.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "machine_limits.h"
#include "ops/table/table.h"

namespace lanner::bench {
namespace {

Tensor random_tensor(const Type& type) {
  Tensor tensor = Tensor::allocate(DType::f32, type.shape());
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : tensor.as<float>()) value = uniform(generator);
  return tensor;
}

/// A node with its inputs, row-major.
struct Work {
  std::unique_ptr<Graph> graph;
  Node* node = nullptr;
  std::vector<Tensor> inputs;
};

Work make_work(const std::string& ir) {
  Work work;
  work.graph = parse_graph(ir, builtin_op_table());
  infer_types(*work.graph);
  work.node = work.graph->body().nodes().back().get();
  for (const Value* value : work.node->inputs())
    work.inputs.push_back(!value              ? Tensor{}
                          : value->constant() ? *value->constant()
                                              : random_tensor(value->type));
  return work;
}

/// A tactic with its buffers.
class Ready {
public:
  Ready(const Work& work, const Backend& backend, const Tactic& tactic, const Target& target) {
    std::vector<const Tensor*> constants(work.inputs.size());
    for (std::size_t i = 0; i < work.inputs.size(); ++i) {
      inputs_.push_back(Tensor::zeros(DType::f32, work.inputs[i].defined() ? work.inputs[i].shape() : Shape{},
                                      tactic.inputs[i].layout));
      if (work.inputs[i].defined()) copy_tensor(work.inputs[i], inputs_[i]);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      from_.push_back(work.inputs[i].defined() ? inputs_[i].data() : nullptr);
      if (work.node->input(i) && work.node->input(i)->constant()) constants[i] = &inputs_[i];
    }
    kernel_ = backend.prepare(*work.node, tactic, constants, target);
    output_ = Tensor::zeros(DType::f32, work.node->output()->type.shape(), tactic.outputs[0].layout);
    to_.push_back(tactic.required_in_place
                      ? const_cast<void*>(from_[static_cast<std::size_t>(tactic.in_place)])
                      : output_.data());
    workspace_ = Tensor::zeros(DType::u8, Shape{static_cast<std::int64_t>(kernel_->workspace())});
  }
  void launch() { kernel_->launch({from_, to_, workspace_.data(), {}}); }

private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<Tensor> inputs_;
  Tensor output_, workspace_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
};

double best_seconds(Ready& ready) {
  double best = 1e9, spent = 0;
  for (int i = 0; i < 200 && spent < 0.03; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ready.launch();
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, time);
    spent += time;
  }
  return best;
}

struct Fastest {
  std::unique_ptr<Ready> ready;
  std::string label;
};

Fastest fastest(const Work& work, const Target& target) {
  Fastest result;
  double best = 1e9;
  for (const Backend* backend : backends_for(target)) {
    if (backend->name() == "reference") continue;
    for (const Tactic& tactic : backend->tactics(*work.node, target).tactics) {
      auto ready = std::make_unique<Ready>(work, *backend, tactic, target);
      const double time = best_seconds(*ready);
      if (time >= best) continue;
      best = time;
      const std::string config(reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size());
      result = {std::move(ready),
                fmt::format("{}/{} {} {}->{}", backend->name(), tactic.kernel, config,
                            tactic.inputs[0].layout.to_string(), tactic.outputs[0].layout.to_string())};
    }
  }
  return result;
}

/// Times a node and sets `of_flops`, `of_read` (with bytes that a run must read) as shares of the machine's
/// limits.
void run(benchmark::State& state, const std::string& ir, double operations, double bytes) {
  Target target;
  target.threads = default_threads();
  const Work work = make_work(ir);
  Fastest chosen = fastest(work, target);
  chosen.ready->launch();
  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    chosen.ready->launch();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.SetLabel(chosen.label);
  state.counters["best_us"] = best * 1e6;
  if (operations > 0) state.counters["of_flops"] = operations / best / peak_flops(target.threads);
  if (bytes > 0)
    state.counters["of_read"] =
        bytes / best / read_bandwidth(static_cast<std::size_t>(bytes), target.threads);
}

struct ConvShape {
  const char* name;
  std::int64_t batch, in, size, out, kernel, stride, group;
};

void conv(benchmark::State& state, const ConvShape& c) {
  const std::int64_t pad = c.kernel / 2, out = (c.size + 2 * pad - c.kernel) / c.stride + 1;
  const std::string weights = fmt::format("[{}, {}, {}, {}]", c.out, c.in / c.group, c.kernel, c.kernel);
  const std::string ir = fmt::format(
      "graph @g(%x: f32[{0}, {1}, {2}, {2}]) -> (%y: f32[*] as \"y\") {{\n"
      "%w: f32{3} = constant() {{value = random(f32{3}, seed = 5, std = 0.05)}}\n"
      "%b: f32[{4}] = constant() {{value = random(f32[{4}], seed = 6, std = 0.1)}}\n"
      "%y: f32[*] = fused(%x, %w, %b) {{kind = \"conv+relu\"}} ((%i: f32[{0}, {1}, {2}, {2}], %v: f32{3}, "
      "%c: f32[{4}]) -> (%r) {{\n"
      "%t: f32[*] = conv(%i, %v, %c) {{pads = [{5}, {5}, {5}, {5}], strides = [{6}, {6}], group = {7}}}\n"
      "%r: f32[*] = relu(%t)\n}})\n}}",
      c.batch, c.in, c.size, weights, c.out, pad, c.stride, c.group);
  const std::int64_t products = c.in / c.group * c.kernel * c.kernel;
  const double operations = 2.0 * static_cast<double>(c.batch * c.out * out * out * products);
  const double bytes = 4.0 * static_cast<double>(c.batch * (c.in * c.size * c.size + c.out * out * out));
  run(state, ir, operations, c.group > 1 ? bytes : 0);
}

constexpr ConvShape convs[] = {
    {"resnet_stem", 1, 3, 224, 64, 7, 2, 1},           {"resnet_56_1x1", 1, 64, 56, 256, 1, 1, 1},
    {"resnet_56_3x3", 1, 64, 56, 64, 3, 1, 1},         {"resnet_28_3x3", 1, 128, 28, 128, 3, 1, 1},
    {"resnet_14_3x3", 1, 256, 14, 256, 3, 1, 1},       {"resnet_14_1x1", 1, 1024, 14, 256, 1, 1, 1},
    {"resnet_7_3x3", 1, 512, 7, 512, 3, 1, 1},         {"resnet_7_1x1", 1, 2048, 7, 512, 1, 1, 1},
    {"mobilenet_stem", 1, 3, 224, 32, 3, 2, 1},        {"mobilenet_1x1_24_144", 1, 24, 56, 144, 1, 1, 1},
    {"mobilenet_1x1_144_24", 1, 144, 56, 24, 1, 1, 1}, {"mobilenet_dw_112", 1, 96, 112, 96, 3, 2, 96},
    {"mobilenet_dw_56", 1, 144, 56, 144, 3, 1, 144},   {"mobilenet_dw_28", 1, 192, 28, 192, 3, 1, 192},
    {"mobilenet_dw_14", 1, 384, 14, 384, 3, 1, 384},   {"mobilenet_dw_7", 1, 960, 7, 960, 3, 1, 960},
};

std::string gemm_ir(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return fmt::format(
      "graph @g(%x: f32[{0}, {1}]) -> (%y: f32[*] as \"y\") {{\n"
      "%w: f32[{1}, {2}] = constant() {{value = random(f32[{1}, {2}], seed = 5, std = 0.05)}}\n"
      "%b: f32[{2}] = constant() {{value = random(f32[{2}], seed = 6, std = 0.1)}}\n"
      "%y: f32[*] = fused(%x, %w, %b) {{kind = \"matmul+add+relu\"}} ((%i: f32[{0}, {1}], %v: f32[{1}, {2}], "
      "%c: f32[{2}]) -> (%r) {{\n"
      "%t: f32[*] = matmul(%i, %v)\n%s: f32[*] = add(%t, %c)\n%r: f32[*] = relu(%s)\n}})\n}}",
      rows, depth, columns);
}

void gemm(benchmark::State& state, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  const std::string ir = gemm_ir(rows, depth, columns);
  run(state, ir, 2.0 * static_cast<double>(rows * depth * columns),
      4.0 * static_cast<double>(depth * columns));
}

/// Consecutive layers, each with its own weights, so that these come from the cache that holds all of them.
void layers(benchmark::State& state, std::int64_t rows, const std::string& kernel) {
  constexpr std::int64_t count = 24, width = 256;
  Target target;
  target.threads = default_threads();
  std::vector<Work> works;
  std::vector<std::unique_ptr<Ready>> chain;
  for (std::int64_t i = 0; i < count; ++i) {
    works.push_back(make_work(gemm_ir(rows, width, width)));
    for (const Backend* backend : backends_for(target))
      for (const Tactic& tactic : backend->tactics(*works.back().node, target).tactics)
        if (kernel == tactic.kernel && static_cast<std::int64_t>(chain.size()) == i)
          chain.push_back(std::make_unique<Ready>(works.back(), *backend, tactic, target));
  }
  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& layer : chain) layer->launch();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double bytes = 4.0 * count * width * width;
  state.SetLabel(kernel);
  state.counters["best_us"] = best * 1e6;
  state.counters["of_read"] = bytes / best / read_bandwidth(static_cast<std::size_t>(bytes), target.threads);
  state.counters["of_flops"] =
      2.0 * static_cast<double>(rows * count * width * width) / best / peak_flops(target.threads);
}

void swish(benchmark::State& state, std::int64_t elements) {
  const std::string ir =
      fmt::format("graph @g(%x: f32[{0}]) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = swish(%x)\n}}", elements);
  run(state, ir, 0, 8.0 * static_cast<double>(elements));
}

void register_all() {
  for (const ConvShape& shape : convs)
    benchmark::RegisterBenchmark(fmt::format("conv/{}", shape.name).c_str(), conv, shape)->MinTime(0.1);
  for (std::int64_t rows : {1, 8}) {
    benchmark::RegisterBenchmark(fmt::format("gemm/{}x256x256", rows).c_str(), gemm, rows, 256, 256)
        ->MinTime(0.1);
    benchmark::RegisterBenchmark(fmt::format("gemm/{}x2048x1000", rows).c_str(), gemm, rows, 2048, 1000)
        ->MinTime(0.1);
  }
  for (std::int64_t rows : {1, 8})
    for (const char* kernel : {"gemm", "inner_product", "matmul"})
      benchmark::RegisterBenchmark(fmt::format("mlp/{}/{}", rows, kernel).c_str(), layers, rows, kernel)
          ->MinTime(0.1);
  benchmark::RegisterBenchmark("elementwise/swish_800k", swish, 802816)->MinTime(0.1);
}

[[maybe_unused]] const bool registered = (register_all(), true);

} // namespace
} // namespace lanner::bench
