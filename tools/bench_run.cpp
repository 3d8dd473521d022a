#include "bench_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/nearest.h>

#include "check.h"
#include "console.h"
#include "interrupt.h"
#include "statistics.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Numbers that no kernel can take a short cut on.
Tensor random_tensor(const Binding& input, const BenchShapes& shapes) {
  const auto found = shapes.find(input.name);
  check(found != shapes.end() && input.dtype != DType::string && !is_complex(input.dtype),
        ErrorCode::unsupported, "bench: cannot make values for input {}; give them by --inputs",
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

/// Noise, of the format that the network takes; larger than what becomes of it, as frames are.
std::vector<Image> random_pictures(const Engine& engine, const Binding& input, int batch) {
  const Preprocess spec = engine.preprocess(input.name).value();
  Image noise = Image::allocate(PixelFormat::rgb24, std::max(1280, spec.region.x + spec.region.width),
                                std::max(720, spec.region.y + spec.region.height));
  std::mt19937 generator(1);
  for (std::int64_t i = 0; i < noise.planes[0].pitch * noise.height; ++i)
    noise.planes[0].data[i] = std::byte(generator() >> 24);
  const PixelFormat format = input.picture == "any" ? PixelFormat::nv12 : parse_pixel_format(input.picture);
  Image image = Image::allocate(format, noise.width, noise.height);
  convert_image(noise, image);
  return std::vector<Image>(static_cast<std::size_t>(input.dims[0] >= 0 ? input.dims[0] : batch), image);
}

void bind_all(Context& context, const Engine& engine, const GivenInputs& given, const BenchShapes& shapes,
              int batch) {
  for (const Binding& input : engine.inputs()) {
    const auto value = given.find(input.name);
    if (value != given.end())
      context.bind(input.name, value->second);
    else if (input.defaulted)
      continue;
    else if (!input.picture.empty())
      context.bind(input.name, random_pictures(engine, input, batch));
    else
      context.bind(input.name, random_tensor(input, shapes));
  }
  for (const Binding& initialiser : engine.overridable())
    if (const auto value = given.find(initialiser.name); value != given.end())
      context.bind(initialiser.name, value->second);
}

/// Runs until both are reached, and at least once where either is asked for; gives each run's time.
std::vector<double> run_for(Context& context, std::size_t runs, double seconds, const std::string& label) {
  ProgressBar bar(label);
  std::vector<double> times;
  const auto start = Clock::now();
  for (double now = 0; times.size() < runs || now < seconds; now = seconds_since(start)) {
    interrupt_token().check();
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

} // namespace

void check_given(const GivenInputs& given, const Engine& engine) {
  for (const auto& [name, tensor] : given) {
    if (std::ranges::find(engine.overridable(), name, &Binding::name) != engine.overridable().end()) continue;
    const auto input = std::ranges::find(engine.inputs(), name, &Binding::name);
    std::vector<std::string> names;
    for (const Binding& binding : engine.inputs()) names.push_back(binding.name);
    check(input != engine.inputs().end(), ErrorCode::invalid_argument,
          "--inputs: the model has no input '{}'{}", name, did_you_mean(name, names));
    check(input->picture.empty(), ErrorCode::invalid_argument,
          "--inputs: input '{}' takes pictures, no tensors; leave it out of the file", name);
  }
}

Measured measure(const Engine& engine, const GivenInputs& given, const BenchShapes& shapes, int batch,
                 const BenchLimits& limits) {
  Measured measured;
  measured.batch = batch;
  {
    Context context = engine.create_context();
    bind_all(context, engine, given, shapes, batch);
    // Pages are touched and clocks rise before anything counts.
    auto start = Clock::now();
    measured.warmup_runs =
        run_for(context, limits.warmup_runs, limits.warmup_seconds, fmt::format("warm up batch {}", batch))
            .size();
    measured.warmup_seconds = seconds_since(start);
    start = Clock::now();
    std::vector<double> times = run_for(context, std::max<std::size_t>(1, limits.runs), limits.seconds,
                                        fmt::format("bench batch {}", batch));
    measured.seconds = seconds_since(start);
    measured.runs = times.size();
    measured.latency = latency_of(std::move(times));
    measured.arena_bytes = context.arena_bytes();
  }
  constexpr double profiled_seconds = 0.5;
  Context context = engine.create_context({0, true});
  bind_all(context, engine, given, shapes, batch);
  run_for(context, 1, std::min(profiled_seconds, measured.seconds), fmt::format("profile batch {}", batch));
  measured.profile = context.profile();
  return measured;
}

} // namespace lanner::tool
