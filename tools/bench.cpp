// lanner bench: how fast a network runs, or a clip decodes.

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "arguments.h"
#include "check.h"
#include "command.h"
#include "console.h"
#include "engine_options.h"
#include "interrupt.h"
#include "limit_option.h"
#include "media.h"
#include "reader_options.h"
#include "statistics.h"

namespace lanner::tool {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double default_budget = 10;

struct BenchOptions {
  EngineOptions engine;
  std::string batch, duration = "3s", format;
  int decoders = 0;
  bool profile = false, json = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Dims with the first one, where it is open, the batch and others that are open 1.
Shape shape_for(const Binding& input, int batch) {
  Shape shape;
  for (std::size_t d = 0; d < input.dims.size(); ++d)
    shape.push_back(input.dims[d] >= 0 ? input.dims[d] : d == 0 ? batch : 1);
  return shape;
}

/// Numbers that no kernel can take a short cut on.
Tensor random_tensor(const Binding& input, const Shape& shape) {
  check(!input.sequence && input.ranked && input.dtype != DType::string && !is_complex(input.dtype),
        ErrorCode::unsupported, "bench: cannot make values for input {}", input.to_string());
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

void bind_random(Context& context, const Engine& engine, const Binding& input, int batch) {
  if (!input.picture.empty()) return context.bind(input.name, random_pictures(engine, input, batch));
  context.bind(input.name, random_tensor(input, shape_for(input, batch)));
}

struct Measured {
  int batch = 1;
  std::vector<double> latencies;
  double seconds = 0;
  std::vector<StepProfile> profile;
  std::uint64_t arena_bytes = 0;
};

void run_for(Context& context, double seconds, std::vector<double>* latencies, ProgressBar& bar) {
  const auto start = Clock::now();
  do {
    interrupt_token().check();
    const auto run = Clock::now();
    context.run({}, {interrupt_token(), {}});
    if (latencies) latencies->push_back(seconds_since(run));
    bar.update(seconds_since(start), seconds, "s");
  } while (seconds_since(start) < seconds);
}

Measured measure(const Engine& engine, int batch, double duration, bool profile) {
  Context context = engine.create_context({0, profile});
  for (const Binding& input : engine.inputs()) bind_random(context, engine, input, batch);
  Measured measured;
  measured.batch = batch;
  ProgressBar bar(fmt::format("bench batch {}", batch));
  // Pages are touched and clocks rise before anything counts.
  run_for(context, std::min(0.5, duration / 4), nullptr, bar);
  const auto start = Clock::now();
  run_for(context, duration, &measured.latencies, bar);
  measured.seconds = seconds_since(start);
  measured.profile = context.profile();
  measured.arena_bytes = context.arena_bytes();
  return measured;
}

Json measured_json(const Measured& measured) {
  const auto runs = static_cast<double>(measured.latencies.size());
  Json json{{"batch", measured.batch},
            {"runs", measured.latencies.size()},
            {"items_per_second", runs * measured.batch / measured.seconds},
            {"latency",
             {{"p50", quantile(measured.latencies, 0.5)},
              {"p90", quantile(measured.latencies, 0.9)},
              {"p99", quantile(measured.latencies, 0.99)}}},
            {"arena_bytes", measured.arena_bytes}};
  for (const StepProfile& step : measured.profile)
    json["profile"].push_back({{"name", step.name},
                               {"op", step.op},
                               {"backend", step.backend},
                               {"kernel", step.kernel},
                               {"sources", step.sources},
                               {"bytes", step.bytes},
                               {"flops", step.flops},
                               {"runs", step.runs},
                               {"seconds", step.seconds}});
  return json;
}

std::string profile_text(const Measured& measured) {
  double total = 0;
  for (const StepProfile& step : measured.profile) total += step.seconds;
  std::vector<const StepProfile*> steps;
  for (const StepProfile& step : measured.profile) steps.push_back(&step);
  std::ranges::stable_sort(steps, std::ranges::greater{}, &StepProfile::seconds);
  Table table({"node", "op", "kernel", "GFLOP/s", "GB/s", "time", "share"});
  for (const StepProfile* step : steps) {
    const double each = step->runs > 0 ? step->seconds / static_cast<double>(step->runs) : 0;
    const auto rate = [&](std::uint64_t count) {
      return each > 0 && count > 0 ? fmt::format("{:.1f}", static_cast<double>(count) / each / 1e9) : "-";
    };
    table.add({one_line(step->name), one_line(step->op), one_line(step->backend + ":" + step->kernel),
               rate(step->flops), rate(step->bytes), seconds_text(each),
               total > 0 ? fmt::format("{:.1f}%", 100 * step->seconds / total) : "-"});
  }
  return fmt::format("\nbatch {}, by node\n{}", measured.batch, table.text());
}

std::vector<int> batches(const BenchOptions& options, const ModelFacts& facts) {
  const Binding* fixed = nullptr;
  for (const Binding& input : facts.engine->inputs())
    if (!input.dims.empty() && input.dims[0] >= 0) fixed = &input;
  if (options.batch.empty())
    return {fixed && fixed->dims[0] > 0 ? static_cast<int>(std::min<std::int64_t>(fixed->dims[0], 65536))
                                        : 1};
  const std::vector<int> asked = parse_counts(options.batch, "--batch");
  for (const int batch : asked)
    check(!fixed || fixed->dims[0] == batch, ErrorCode::invalid_argument,
          "--batch {}: input {} has a fixed first dimension", batch, fixed ? fixed->to_string() : "");
  return asked;
}

/// A model is built for each batch on its own: kernels are timed for the shape that they run.
Engine engine_for(const ModelFacts& facts, const BenchOptions& options, int batch) {
  BuildOptions build = build_options(options.engine, default_budget);
  if (!facts.plan)
    for (const Binding& input : facts.engine->inputs())
      if (!input.sequence && input.ranked && !build.shapes.contains(input.name))
        build.shapes[input.name] = ShapeRange::fixed(shape_for(input, batch));
  return open_engine(facts, options.engine, build, batch);
}

int bench_engine(const BenchOptions& options, double duration) {
  Files files;
  const ModelFacts facts = inspect(options.engine, files);
  Json json{{"model", options.engine.model}};
  Table table({"batch", "per second", "p50", "p90", "p99", "runs"});
  std::string profiles;
  for (const int batch : batches(options, facts)) {
    const Engine engine = engine_for(facts, options, batch);
    const Measured measured = measure(engine, batch, duration, options.profile);
    json["threads"] = engine.threads();
    json["results"].push_back(measured_json(measured));
    table.add({std::to_string(batch),
               fmt::format("{:.1f}", json["results"].back()["items_per_second"].get<double>()),
               seconds_text(quantile(measured.latencies, 0.5)),
               seconds_text(quantile(measured.latencies, 0.9)),
               seconds_text(quantile(measured.latencies, 0.99)), std::to_string(measured.latencies.size())});
    if (options.profile) profiles += profile_text(measured);
  }
  if (options.json)
    print_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  else
    print_text(table.text() + profiles);
  return 0;
}

int bench_clip(const BenchOptions& options, double duration) {
  check(options.batch.empty() && !options.profile, ErrorCode::invalid_argument,
        "bench: --batch and --profile are for models; {} is a video", options.engine.model);
  ReaderOptions reading;
  reading.device = options.engine.device;
  reading.threads = options.engine.threads;
  reading.decoders = options.decoders;
  reading.format = options.format;
  reading.conceal = true;
  VideoReaderOptions reader_options = to_reader_options(reading);
  reader_options.decoder.output.reset(); // Frames stay where they were decoded.
  ProgressBar bar("bench decode");
  const auto start = Clock::now();
  ParallelDecoder decoder(open_path(options.engine.model, given_limits()), reader_options,
                          {interrupt_token(), bar.callback()});
  const auto expected = static_cast<double>(std::max<std::int64_t>(0, decoder.size()));
  std::int64_t frames = 0;
  double first = 0;
  while ((frames == 0 || seconds_since(start) < duration) && decoder.next()) {
    interrupt_token().check();
    if (frames == 0) first = seconds_since(start);
    bar.update(static_cast<double>(++frames), expected, "frames");
  }
  const double seconds = seconds_since(start);
  check(frames > 0, ErrorCode::bad_data, "{}: no frame could be decoded", options.engine.model);
  const StreamInfo& stream = decoder.stream();
  const double rate = static_cast<double>(frames) / seconds;
  const Json json{{"clip", options.engine.model},
                  {"decoder", decoder.description()},
                  {"reason", decoder.decoder_reason()},
                  {"width", stream.width},
                  {"height", stream.height},
                  {"frames", frames},
                  {"seconds", seconds},
                  {"first_frame_seconds", first},
                  {"frames_per_second", rate}};
  if (options.json)
    print_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  else
    print_text(fmt::format("{}: {}x{}, {} {} in {} (the first after {}): {:.1f} frames/s\n",
                           decoder.description(), stream.width, stream.height, frames,
                           frames == 1 ? "frame" : "frames", seconds_text(seconds), seconds_text(first),
                           rate));
  return 0;
}

int run_bench(const BenchOptions& options) {
  const double duration = parse_duration(options.duration);
  check(duration > 0, ErrorCode::invalid_argument, "--duration {}: expected more than nothing",
        options.duration);
  return kind_of(options.engine.model) == FileKind::clip ? bench_clip(options, duration)
                                                         : bench_engine(options, duration);
}

} // namespace

CLI::App* add_bench(CLI::App& app, Action& action) {
  auto [command, options] = make_command<BenchOptions>(
      app, action, "bench", "How fast a model or plan runs, or a clip decodes.", run_bench);
  command->add_option("file", options->engine.model, "A model, a plan or a clip")->required();
  command->add_option("--batch", options->batch, "Batch sizes, like 1,8 (default: the model's own, else 1)");
  command
      ->add_option("--duration", options->duration,
                   "Of the measurement of each batch, or at most of decoding")
      ->capture_default_str();
  command->add_flag("--profile", options->profile, "Time of every node");
  command->add_flag("--json", options->json, "As one JSON object; times in seconds");
  command->add_option("--decoders", options->decoders, "Of a clip: decoders at work side by side")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--format", options->format, "Of a clip: pixel format that frames are converted to");
  add_engine_options(*command, options->engine);
  command->footer("Inputs are random numbers; latency is that of one run of the whole batch.\n\n"
                  "Examples:\n  lanner bench model.onnx --batch 1,8 --threads 2\n  lanner bench model.plan "
                  "--duration 10s --profile\n  lanner bench clip.mp4");
  return command;
}

} // namespace lanner::tool
