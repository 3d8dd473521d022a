// lanner bench: measures how fast a network runs or a clip decodes.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/tensor_file.h>

#include "check.h"
#include "command.h"
#include "commands/bench_clip.h"
#include "commands/bench_run.h"
#include "commands/engine_summary.h"
#include "input/media.h"
#include "options/arguments.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/json_text.h"
#include "output/profile_json.h"

namespace lanner::tool {
namespace {

constexpr double default_budget = 10;
constexpr double default_seconds = 3, default_warmup = 0.5;

struct BenchOptions {
  EngineOptions engine;
  ReaderOptions reader; ///< For a clip.
  std::string batch, duration, warmup, inputs;
  std::size_t iterations = 0;
  bool profile = false, json = false, device_inputs = false;
  BenchShapes shapes; ///< Shapes at which a plan is measured.
};

double duration_of(const BenchOptions& options) {
  if (options.duration.empty()) return options.iterations > 0 ? 0 : default_seconds;
  const double seconds = parse_seconds(options.duration);
  check(seconds > 0, ErrorCode::invalid_argument, "--duration {}: expected a time above 0", options.duration);
  return seconds;
}

BenchLimits limits_of(const BenchOptions& options) {
  BenchLimits limits;
  limits.runs = options.iterations;
  limits.seconds = duration_of(options);
  limits.device_inputs = options.device_inputs;
  const std::string& warmup = options.warmup;
  if (warmup.empty()) {
    limits.warmup_seconds =
        limits.seconds > 0 ? std::min(default_warmup, limits.seconds / 4) : default_warmup;
  } else if (warmup.find_first_not_of("0123456789") == std::string::npos) {
    check(warmup.size() < 10, ErrorCode::invalid_argument,
          "--warmup {}: expected a number of at most 9 digits, or a time like 500ms", warmup);
    limits.warmup_runs = std::stoul(warmup);
  } else {
    limits.warmup_seconds = with_context([] { return "--warmup"; }, [&] { return parse_seconds(warmup); });
  }
  return limits;
}

Json measured_json(const Measured& measured, const std::vector<StepGroup>& groups, bool profile,
                   bool device_inputs) {
  Json json{{"batch", measured.batch},
            {"runs", measured.runs},
            {"seconds", measured.seconds},
            {"warmup", {{"runs", measured.warmup_runs}, {"seconds", measured.warmup_seconds}}},
            {"items_per_second", measured.items_per_second()},
            {"inputs", device_inputs ? "device" : "host"},
            {"latency", latency_json(measured.latency)},
            {"arena_bytes", measured.arena_bytes},
            {"where", where_json(groups)}};
  if (const auto& device = measured.device)
    json["device"] = {{"enqueue", device->enqueue}, {"copies", device->copies}, {"compute", device->compute}};
  if (profile) json["profile"] = profile_json(measured.profile);
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

/// The fixed size that --shape gives to an input's open first dimension; 0 where it gives none.
int shaped_batch(const BenchOptions& options, const ModelFacts& facts) {
  BuildOptions given;
  const auto& row = *find_option(build_option_table(), "shapes");
  options.engine.given.apply_to(given, row, GivenOptions::flag_of(row.info));
  for (const auto& [name, range] : given.shapes) {
    const auto input = std::ranges::find(facts.inputs, name, &Binding::name);
    if (input == facts.inputs.end() || range.opt.rank() == 0 || range.min[0] != range.max[0]) continue;
    if (input->dims.empty() || input->dims[0] < 0)
      return static_cast<int>(std::clamp<std::int64_t>(range.opt[0], 1, 65536));
  }
  return 0;
}

/// The batch of --shape or of the given tensors, else the model's fixed one, else --batch.
std::vector<int> batches(const BenchOptions& options, const ModelFacts& facts, const GivenInputs& given) {
  const int shaped = shaped_batch(options, facts);
  if (shaped > 0) {
    check(options.batch.empty() || options.batch == std::to_string(shaped), ErrorCode::invalid_argument,
          "--batch {}: --shape sets a batch of {}; leave one of them out", options.batch, shaped);
    return {shaped};
  }
  for (const Binding& input : facts.inputs) {
    const auto value = given.find(input.name);
    if (!options.batch.empty() || value == given.end() || input.dims.empty() || input.dims[0] >= 0) continue;
    if (value->second.rank() > 0)
      return {static_cast<int>(std::clamp<std::int64_t>(value->second.shape()[0], 1, 65536))};
  }
  const Binding* fixed = nullptr;
  for (const Binding& input : facts.inputs)
    if (!input.dims.empty() && input.dims[0] >= 0 && !input.defaulted) fixed = &input;
  if (options.batch.empty())
    return {fixed && fixed->dims[0] > 0 ? static_cast<int>(std::min<std::int64_t>(fixed->dims[0], 65536))
                                        : 1};
  const std::vector<int> asked = parse_counts(options.batch, "--batch");
  for (const int batch : asked)
    check(!fixed || fixed->dims[0] == batch, ErrorCode::invalid_argument,
          "--batch {}: input {} has a fixed first dimension", batch, fixed ? fixed->to_string() : "");
  return asked;
}

/// Shapes of given values, of a plan's --shape and of a model's: of a range the opt shape, with this batch
/// where the range allows it.
BenchShapes known_shapes(const BenchOptions& options, const Engine& model, const BuildOptions& build,
                         const GivenInputs& given, int batch) {
  BenchShapes known = options.shapes;
  for (const Binding& input : model.inputs()) // Given values may include initialisers.
    if (const auto value = given.find(input.name); value != given.end())
      known[input.name] = value->second.shape();
  for (const auto& [input, range] : build.shapes) {
    Shape& shape = known.emplace(input, range.opt).first->second;
    if (!given.contains(input) && shape.rank() > 0 && range.min[0] <= batch && batch <= range.max[0])
      shape[0] = batch;
  }
  return known;
}

/// Batch of one run at the shapes that were settled.
int batch_of(const Engine& engine, const BenchShapes& shapes, int batch) {
  for (const Binding& input : engine.inputs()) {
    const auto shape = shapes.find(input.name);
    if (shape == shapes.end() || input.dims.empty() || input.dims[0] >= 0) continue;
    return static_cast<int>(std::clamp<std::int64_t>(shape->second[0], 1, 65536));
  }
  return batch;
}

/// Whether the input has a default value in the model.
bool has_default(const Engine& engine, const std::string& input) {
  const auto& inputs = engine.inputs();
  return std::ranges::any_of(inputs, [&](const Binding& one) { return one.name == input && one.defaulted; });
}

/// What is measured. A model is built for each batch anew, as kernels are timed for the shapes that they run.
struct BenchSubject {
  BuildOptions build;
  BenchShapes shapes;
  int batch;
};

BenchSubject subject_for(const ModelFacts& facts, const BenchOptions& options, const GivenInputs& given,
                         int batch) {
  BuildOptions build = build_options(options.engine, default_budget);
  const Engine& model = *facts.engine;
  // Where no batch was asked for, a model may run at the batch it was exported with.
  const bool any_batch = options.batch.empty() && model.open_sizes();
  const BenchShapes shapes =
      settled_shapes(model, known_shapes(options, model, build, given, batch), any_batch ? 0 : batch);
  if (any_batch) batch = batch_of(model, shapes, batch);
  if (!facts.plan)
    for (const auto& [input, shape] : shapes)
      if (!build.shapes.contains(input) && (given.contains(input) || !has_default(model, input)))
        build.shapes[input] = ShapeRange::fixed(shape);
  return {std::move(build), shapes, batch};
}

GivenInputs given_inputs(const BenchOptions& options, const ModelFacts& facts) {
  if (options.inputs.empty()) return {};
  GivenInputs given = load_tensors(options.inputs, given_limits());
  check_given(given, *facts.engine);
  return given;
}

/// Printed below the table: what ran, where its time went, what limits its speed.
std::string summary_text(const BenchOptions& options, const EngineSummary& summary, const Measured& last,
                         const Measurements& measurements) {
  std::string text = "\n" + summary.text();
  if (const auto& device = last.device)
    text += fmt::format("GPU      enqueue {}, copies {}, compute {} of a run of batch {}; measured with "
                        "inputs and results on the {}\n",
                        seconds_text(device->enqueue), seconds_text(device->copies),
                        seconds_text(device->compute), last.batch, options.device_inputs ? "GPU" : "host");
  text += fmt::format("warm-up  {} {} in {} before each measurement\n", last.warmup_runs,
                      last.warmup_runs == 1 ? "run" : "runs", seconds_text(last.warmup_seconds));
  if (!options.profile)
    text += fmt::format("\nwhere the time goes, batch {}, profiled in separate runs\n{}", last.batch,
                        where_text(summary.groups(last.profile)));
  const std::vector<std::string> advice = summary.advice(measurements);
  return advice.empty() ? text : text + "\nwhat holds it back\n" + advice_text(advice);
}

int bench_engine(BenchOptions options) {
  const BenchLimits limits = limits_of(options);
  if (kind_of(options.engine.model) == FileKind::plan) options.shapes = take_plan_shapes(options.engine);
  Files files;
  files.reads("--inputs", options.inputs);
  ModelFacts facts = inspect(options.engine, files);
  check(options.shapes.empty() || facts.open_sizes, ErrorCode::invalid_argument,
        "{}: is a plan, for which --shape was fixed when it was built; build it again from its model with "
        "--shape",
        options.engine.model);
  const GivenInputs given = given_inputs(options, facts);
  Json json{{"model", options.engine.model}};
  Table table({"batch", "per second", "mean", "min", "p50", "p90", "p99", "max", "runs"});
  Measurements measurements;
  std::optional<EngineSummary> summary;
  std::optional<Measured> last;
  std::string profiles;
  std::vector<BenchSubject> subjects; // Made before the first build frees the model.
  for (const int asked : batches(options, facts, given))
    subjects.push_back(subject_for(facts, options, given, asked));
  for (const auto& [build, shapes, batch] : subjects) {
    std::optional<BuildTimes> times;
    const Device device = facts.plan ? facts.engine->device() : build.device;
    check(!options.device_inputs || !device.is_host(), ErrorCode::invalid_argument,
          "--device-inputs: the network runs on the CPU, where all inputs already are; give --device cuda:0, "
          "or "
          "leave it out");
    const Engine engine = open_engine(facts, options.engine, build, batch, &times);
    if (facts.plan) prepare_open(engine, shapes);
    const Measured& measured = last.emplace(measure(engine, given, shapes, batch, limits));
    summary.emplace(engine, facts, times);
    json["threads"] = engine.threads();
    json["results"].push_back(
        measured_json(measured, summary->groups(measured.profile), options.profile, options.device_inputs));
    json["results"].back()["engine"] = summary->json();
    const Latency& latency = measured.latency;
    table.add({std::to_string(batch), fmt::format("{:.1f}", measured.items_per_second()),
               seconds_text(latency.mean), seconds_text(latency.min), seconds_text(latency.p50),
               seconds_text(latency.p90), seconds_text(latency.p99), seconds_text(latency.max),
               std::to_string(measured.runs)});
    measurements.batches.push_back(
        {batch, measured.items_per_second(), latency.p50, latency.p99, measured.runs});
    measurements.profile = measured.profile;
    if (options.profile) profiles += profile_text(measured);
  }
  json["advice"] = summary->advice(measurements);
  if (options.json)
    print_json(json);
  else
    print_text(table.text() + profiles + summary_text(options, *summary, *last, measurements));
  return 0;
}

int bench_file(const BenchOptions& options) {
  if (kind_of(options.engine.model) != FileKind::clip) return bench_engine(options);
  check(options.batch.empty() && !options.profile && options.iterations == 0 && options.warmup.empty() &&
            options.inputs.empty() && !options.engine.given.has("verify") && !options.device_inputs,
        ErrorCode::invalid_argument,
        "bench: --batch, --iterations, --warmup, --inputs, --device-inputs, --profile and --verify are for "
        "models; {} is a video",
        options.engine.model);
  ReaderOptions reader = options.reader;
  reader.follow(options.engine.given);
  bench_clip({options.engine.model, reader, duration_of(options), options.json});
  return 0;
}

} // namespace

void add_bench(Command& program, Action& action) {
  auto [command, options] = make_command<BenchOptions>(
      program, action, "bench", "Measure how fast a model or plan runs, or a clip decodes.", bench_file);
  command.add_option("file", options->engine.model, "A model, a plan or a clip").required();
  command.add_option("--batch", options->batch, "Batch sizes, like 1,8 (default: the model's own, else 1)");
  command.add_option("--duration", options->duration,
                     "How long each batch is measured, or at most a clip decoded (default: 3s)");
  command
      .add_option("--iterations", options->iterations,
                  "Runs of each batch to measure, in place of --duration; with it, at least so many")
      .range(1, 100'000'000);
  command.add_option(
      "--warmup", options->warmup,
      "Warm-up before each measurement: runs, like 20, or a time, like 500ms (default: 0.5s, at most a "
      "quarter of --duration)");
  command.add_option("--inputs", options->inputs,
                     "safetensors file of values by input name; other inputs are random");
  command.add_flag("--device-inputs", options->device_inputs,
                   "Keep inputs and results in the GPU's memory, without copies from and to the host");
  command.add_flag("--profile", options->profile, "Time of each node");
  command.add_flag("--json", options->json, "As one JSON object; times in seconds");
  OptionRows(command, options->reader.given)
      .heading("How a clip is read")
      .add(reader_option_table(), {"decoders", "format"});
  add_engine_options(command, options->engine, {OptionUse::plans});
  command.layout("What is measured",
                 {"--batch", "--duration", "--iterations", "--inputs", "--profile", "--json", "--shape",
                  "--precision", "--budget", "--device", "--threads"});
  command.footer(
      "Latency is that of one run of the whole batch. Nodes are timed in separate runs, since timing "
      "them slows a run down.\n\n"
      "Examples:\n  lanner bench model.onnx --batch 1,8 --threads 2\n  lanner bench model.plan "
      "--duration 10s --profile\n  lanner bench model.plan --warmup 20 --iterations 200 --inputs "
      "values.safetensors\n  lanner bench clip.mp4");
}

} // namespace lanner::tool
