// Cost of reading a network's outputs, compared with running it, on one thread. LANNER_BENCH_DEVICE=cuda:0
// puts the outputs on a GPU.

#include <cstdlib>
#include <random>

#include <benchmark/benchmark.h>

#include <lanner/task.h>

#include "tasks/declare/resolve.h"
#include "tasks/read/reader.h"

namespace lanner::bench {
namespace {

constexpr std::int64_t cells = 8400, classes = 80; // Of 640 x 640.

Tensor random_tensor(const Shape& shape, float low, float high) {
  std::mt19937 random(1);
  Tensor tensor = Tensor::allocate(DType::f32, shape);
  for (float& value : tensor.as<float>())
    value = low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  return tensor;
}

/// [1, 4 + classes + extra, cells] of boxes all over the input, `found` of which pass.
Tensor yolo(std::int64_t extra, int found) {
  Tensor tensor = random_tensor({1, 4 + classes + extra, cells}, 0, 0.2f);
  const auto values = tensor.as<float>();
  std::mt19937 random(2);
  for (std::size_t i = 0; i < 4 * static_cast<std::size_t>(cells); ++i)
    values[i] = static_cast<float>(random() % (i < 2 * static_cast<std::size_t>(cells) ? 640 : 120));
  for (int i = 0; i < found; ++i)
    values[static_cast<std::size_t>((4 + random() % classes) * cells + random() % cells)] = 0.9f;
  return tensor;
}

/// The device of `LANNER_BENCH_DEVICE`, where outputs are; the host where it is not set.
Device bench_device() {
  const char* const text = std::getenv("LANNER_BENCH_DEVICE");
  return text ? Device::parse(text) : Device{};
}

void read(benchmark::State& state, const Task& given, tasks::Outputs outputs, std::int32_t side) {
  Preprocess spec;
  spec.width = spec.height = side;
  spec.fit = Fit::letterbox;
  tasks::Facts facts;
  facts.wanted = given;
  facts.width = facts.height = side;
  for (const auto& [name, tensor] : outputs) {
    Binding binding;
    binding.name = name;
    binding.dims = tensor.shape().dims();
    facts.outputs.push_back(binding);
  }
  const Task task = tasks::resolve(facts, {}).task;
  for (auto& [name, tensor] : outputs) tensor = tensor.to(bench_device());
  std::int64_t count = 0;
  for (auto step : state) count = tasks::read_result(task, spec, outputs, 1920, 1080, 0, {}).count();
  state.counters["found"] = static_cast<double>(count);
}

Task detector(TaskKind kind) {
  Task task;
  task.kind = kind;
  task.head = Head::yolo_v8;
  return task;
}

void read_yolo(benchmark::State& state, DType type) {
  const Tensor floats = yolo(0, static_cast<int>(state.range(0)));
  Tensor output = Tensor::allocate(type, floats.shape());
  copy_tensor(floats, output);
  read(state, detector(TaskKind::detect), {{"o", output}}, 640);
}
BENCHMARK_CAPTURE(read_yolo, f32, DType::f32)->Arg(20)->Arg(2000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_yolo, f16, DType::f16)->Arg(20)->Unit(benchmark::kMicrosecond);

void read_masks(benchmark::State& state) {
  read(state, detector(TaskKind::segment),
       {{"o", yolo(32, static_cast<int>(state.range(0)))}, {"p", random_tensor({1, 32, 160, 160}, -1, 1)}},
       640);
}
BENCHMARK(read_masks)->Arg(20)->Unit(benchmark::kMicrosecond);

void read_turned(benchmark::State& state) {
  read(state, detector(TaskKind::obb), {{"o", yolo(1, static_cast<int>(state.range(0)))}}, 640);
}
BENCHMARK(read_turned)->Arg(2000)->Unit(benchmark::kMicrosecond);

/// Noise is the worst case, as no two neighbours agree; `blocks` of 16 equal values are more like maps.
void read_semantic(benchmark::State& state, bool blocks) {
  Tensor scores = random_tensor({1, 21, 128, 128}, 0, 1);
  if (blocks)
    for (std::size_t i = 0; i < scores.as<float>().size(); ++i) {
      const std::size_t c = i / (128 * 128), y = i / 128 % 128, x = i % 128;
      scores.as<float>()[i] += c == (y / 16 * 8 + x / 16) % 21 ? 1.f : 0.f;
    }
  Task task;
  task.kind = TaskKind::semantic;
  read(state, task, {{"o", scores}}, 512);
}
BENCHMARK_CAPTURE(read_semantic, noise, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_semantic, blocks, true)->Unit(benchmark::kMicrosecond);

/// 21 classes of 520 x 520 pixels, as in torchvision's networks.
void read_large_semantic(benchmark::State& state) {
  Task task;
  task.kind = TaskKind::semantic;
  read(state, task, {{"o", random_tensor({1, 21, 520, 520}, 0, 1)}}, 520);
}
BENCHMARK(read_large_semantic)->Unit(benchmark::kMicrosecond);

void read_depth(benchmark::State& state) {
  Task task;
  task.kind = TaskKind::depth;
  read(state, task, {{"o", random_tensor({1, 518, 518}, 0, 1)}}, 518);
}
BENCHMARK(read_depth)->Unit(benchmark::kMicrosecond);

void read_image(benchmark::State& state) {
  Task task;
  task.kind = TaskKind::image;
  task.range = {{0, 1}};
  read(state, task, {{"o", random_tensor({1, 3, 1080, 1920}, 0, 1)}}, 1080);
}
BENCHMARK(read_image)->Unit(benchmark::kMicrosecond);

void read_objectness(benchmark::State& state) {
  Task task = detector(TaskKind::detect);
  task.head = Head::yolo_v5;
  read(state, task, {{"o", random_tensor({1, 25200, 85}, 0, 0.3f)}}, 640);
}
BENCHMARK(read_objectness)->Unit(benchmark::kMicrosecond);

void read_pose(benchmark::State& state) {
  Task task = detector(TaskKind::pose);
  task.keypoints = 17;
  task.keypoint_values = 3;
  Tensor output = random_tensor({1, 56, cells}, 0, 0.2f);
  for (std::size_t i = 0; i < 40; ++i)
    output.as<float>()[4 * static_cast<std::size_t>(cells) + i * 200] = 0.9f;
  read(state, task, {{"o", output}}, 640);
}
BENCHMARK(read_pose)->Unit(benchmark::kMicrosecond);

/// DETR of 100 queries, RetinaNet of 120 087 anchors.
void read_pair(benchmark::State& state, Head head, std::int64_t rows, std::int64_t channels) {
  Task task = detector(TaskKind::detect);
  task.head = head;
  if (head == Head::retinanet) task.anchors.assign(static_cast<std::size_t>(rows * 4), 50);
  read(state, task,
       {{"boxes", random_tensor({1, rows, 4}, 0, 1)},
        {"scores", random_tensor({1, rows, channels}, -8, -1.098f)}},
       800);
}
BENCHMARK_CAPTURE(read_pair, detr, Head::detr, 100, 92)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(read_pair, retinanet, Head::retinanet, 120'087, 91)->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace lanner::bench
