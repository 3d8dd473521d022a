#include "commands/bench_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include <lanner/decoder.h>
#include <lanner/error.h>
#include <lanner/nearest.h>
#include <lanner/profiled_range.h>

#include "check.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/statistics.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Random numbers, so that no kernel can take a short cut.
Tensor random_tensor(const Binding& input, const BenchShapes& shapes) {
  const auto found = shapes.find(input.name);
  check(found != shapes.end() && input.dtype != DType::string && !is_complex(input.dtype),
        ErrorCode::unsupported, "bench: cannot generate values for input {}; give them by --inputs",
        input.to_string());
  const Shape& shape = found->second;
  Tensor floats = Tensor::allocate(DType::f32, shape);
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> values(0.f, 1.f);
  for (float& value : floats.as<float>()) value = values(generator);
  if (input.dtype == DType::f32) return floats;
  Tensor tensor = Tensor::allocate(input.dtype, shape);
  copy_tensor(floats, tensor);
  return tensor;
}

/// Noise in the network's pixel format, larger than the network's input, as frames usually are.
std::vector<Image> random_pictures(const Engine& engine, const Binding& input, int batch) {
  const Preprocess spec = engine.preprocess(input.name).value();
  Image noise = Image::allocate(PixelFormat::rgb24, std::max(1280, spec.region.x + spec.region.width),
                                std::max(720, spec.region.y + spec.region.height));
  std::mt19937 generator(1);
  for (std::int64_t i = 0; i < noise.planes[0].pitch * noise.height; ++i)
    noise.planes[0].data[i] = std::byte(generator() >> 24);
  const PixelFormat format = input.image == "any" ? PixelFormat::nv12 : parse_pixel_format(input.image);
  Image image = Image::allocate(format, noise.width, noise.height);
  convert_image(noise, image);
  return std::vector<Image>(static_cast<std::size_t>(input.dims[0] >= 0 ? input.dims[0] : batch), image);
}

/// The same image in the memory of the network's device.
std::vector<Image> on_device(std::vector<Image> pictures, Device device) {
  Image there =
      Image::allocate(pictures[0].format, pictures[0].width, pictures[0].height, given_limits(), device);
  copy_image(pictures[0], there);
  std::ranges::fill(pictures, there);
  return pictures;
}

/// `there`: values are on the engine's device.
void bind_all(Context& context, const Engine& engine, const GivenInputs& given, const BenchShapes& shapes,
              int batch, bool there) {
  const Device device = there ? engine.device() : Device{};
  for (const Binding& input : engine.inputs()) {
    const auto value = given.find(input.name);
    if (value == given.end() && input.defaulted) continue;
    if (value == given.end() && !input.image.empty()) {
      const std::vector<Image> pictures = random_pictures(engine, input, batch);
      context.bind(input.name, there ? on_device(pictures, device) : pictures);
      continue;
    }
    const Tensor tensor = value != given.end() ? value->second : random_tensor(input, shapes);
    context.bind(input.name, tensor.dtype() == DType::string ? tensor : tensor.to(device));
  }
  for (const Binding& initialiser : engine.overridable())
    if (const auto value = given.find(initialiser.name); value != given.end())
      context.bind(initialiser.name, value->second);
}

/// Runs until both bounds are reached, at least once unless both are zero; returns the time of each run.
std::vector<double> run_for(Context& context, std::size_t runs, double seconds, const std::string& label,
                            Device device) {
  const ProfiledRange all(device, label);
  ProgressBar bar(label);
  std::vector<double> times;
  const auto start = Clock::now();
  for (double now = 0; times.size() < runs || now < seconds; now = seconds_since(start)) {
    interrupt_token().check();
    const ProfiledRange one(device, "run");
    const auto run = Clock::now();
    context.run({}, {interrupt_token(), {}});
    times.push_back(seconds_since(run));
    if (seconds > 0)
      bar.update(now, seconds, "s");
    else
      bar.update(static_cast<double>(times.size()), static_cast<double>(runs), "runs");
  }
  return times;
}

} // namespace

Latency latency_of(std::vector<double> times) {
  Latency latency;
  if (times.empty()) return latency;
  std::ranges::sort(times);
  latency.min = times.front();
  latency.max = times.back();
  latency.mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  latency.p50 = sorted_quantile(times, 0.5);
  latency.p90 = sorted_quantile(times, 0.9);
  latency.p99 = sorted_quantile(times, 0.99);
  return latency;
}

Json latency_json(const Latency& latency) {
  return {{"mean", latency.mean}, {"min", latency.min}, {"p50", latency.p50},
          {"p90", latency.p90},   {"p99", latency.p99}, {"max", latency.max}};
}

void check_given(const GivenInputs& given, const Engine& engine) {
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(engine.overridable(), name, &Binding::name) != engine.overridable().end()) continue;
    const auto input = std::ranges::find(engine.inputs(), name, &Binding::name);
    std::vector<std::string> names;
    for (const Binding& binding : engine.inputs()) names.push_back(binding.name);
    check(input != engine.inputs().end(), ErrorCode::invalid_argument,
          "--inputs: the model has no input '{}'{}", name, did_you_mean(name, names));
    check(input->image.empty(), ErrorCode::invalid_argument,
          "--inputs: input '{}' takes images, not tensors; leave it out of the file", name);
  }
}

namespace {

/// Mean seconds of a run, and of the call that queues it.
struct RunTimes {
  double run = 0, enqueue = 0;
};

RunTimes short_look(Context& context, double seconds, Device device, const std::string& label) {
  const ProfiledRange all(device, label);
  const auto next = [&] {
    RunTimes times;
    const auto start = Clock::now();
    context.enqueue({}, {interrupt_token(), {}});
    times.enqueue = seconds_since(start);
    wait_for(device, {});
    times.run = seconds_since(start);
    return times;
  };
  for (int recorded = 0; recorded < 3; ++recorded) next(); // The first runs load kernels and record graphs.
  RunTimes sum;
  std::size_t runs = 0;
  for (const auto start = Clock::now(); runs == 0 || seconds_since(start) < seconds; ++runs) {
    interrupt_token().check();
    const RunTimes times = next();
    sum.run += times.run;
    sum.enqueue += times.enqueue;
  }
  const auto count = static_cast<double>(runs);
  return {sum.run / count, sum.enqueue / count};
}

/// From separate runs with inputs and results on the GPU, and on the host.
DeviceTimes device_times(const Engine& engine, const GivenInputs& given, const BenchShapes& shapes, int batch,
                         double seconds) {
  const auto look = [&](bool there) {
    Context context = engine.create_context({0, false, there});
    bind_all(context, engine, given, shapes, batch, there);
    return short_look(context, seconds, engine.device(),
                      fmt::format("batch {}, inputs on the {}", batch, there ? "GPU" : "host"));
  };
  const RunTimes there = look(true), here = look(false);
  return {there.enqueue, there.run, std::max(0.0, here.run - there.run)};
}

} // namespace

Measured measure(const Engine& engine, const GivenInputs& given, const BenchShapes& shapes, int batch,
                 const BenchLimits& limits) {
  constexpr double profiled_seconds = 0.5;
  const Device device = engine.device();
  const bool there = limits.device_inputs;
  Measured measured;
  measured.batch = batch;
  {
    Context context = engine.create_context({0, false, there});
    bind_all(context, engine, given, shapes, batch, there);
    // So that pages are touched and clock rates are up before anything is measured.
    auto start = Clock::now();
    measured.warmup_runs = run_for(context, limits.warmup_runs, limits.warmup_seconds,
                                   fmt::format("warm up batch {}", batch), device)
                               .size();
    measured.warmup_seconds = seconds_since(start);
    const ProfiledRange captured(device, "measured", true);
    start = Clock::now();
    std::vector<double> times = run_for(context, std::max<std::size_t>(1, limits.runs), limits.seconds,
                                        fmt::format("bench batch {}", batch), device);
    measured.seconds = seconds_since(start);
    measured.runs = times.size();
    measured.latency = latency_of(std::move(times));
    measured.arena_bytes = context.arena_bytes();
  }
  const double shortly = std::min(profiled_seconds, measured.seconds);
  if (!device.is_host()) measured.device = device_times(engine, given, shapes, batch, shortly);
  Context context = engine.create_context({0, true, there});
  bind_all(context, engine, given, shapes, batch, there);
  run_for(context, 1, shortly, fmt::format("profile batch {}", batch), device);
  measured.profile = context.profile();
  return measured;
}

} // namespace lanner::tool
