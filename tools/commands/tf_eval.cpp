// lanner tf eval: accuracy and speed of a TensorFlow model as it is converted.

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/evaluation.h>
#include <lanner/model_folder.h>
#include <lanner/tensorflow.h>
#include <lanner/threads.h>

#include "check.h"
#include "commands/bench_run.h"
#include "commands/tf.h"
#include "input/eval_data.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/eval_text.h"
#include "output/json_text.h"
#include "output/task.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Items = std::map<std::string, Item>;

constexpr const char* synthetic_data = "synthetic";
constexpr double default_budget = 3; ///< Seconds of timing kernels.
constexpr int most_readers = 8;      ///< Threads that decode ahead.

struct TfEvalOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  TaskOptions task;
  EvalDataOptions data;
  std::string input;
  int batch = 0, minimum_segment_size = 3, warmup = 5, runs = 0;
  std::uint64_t seed = 0;
  bool native = false, json = false;

  bool synthetic() const { return data.data == synthetic_data; }
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A converted model, timed at each run. The first runs warm it up.
class TimedModel {
public:
  TimedModel(tf::Model model, int warmup)
      : model_(std::move(model)), runner_(model_.create_runner()), warmup_(warmup) {}

  Items run(const Items& inputs) {
    for (; warmup_ > 0; --warmup_) call(inputs);
    const auto start = Clock::now();
    Items outputs = call(inputs);
    times_.push_back(seconds_since(start));
    return outputs;
  }
  const tf::Model& model() const { return model_; }
  const std::vector<double>& times() const { return times_; }

private:
  Items call(const Items& inputs) {
    interrupt_token().check();
    return runner_(inputs, {interrupt_token(), {}});
  }

  tf::Model model_;
  tf::Runner runner_;
  int warmup_;
  std::vector<double> times_;
};

/// The results of the command.
struct TfEvaluation {
  std::int64_t items = 0; ///< Pictures, or elements of synthetic batches.
  std::int64_t batch = 0;
  std::optional<Evaluation> accuracy;
  double convert_seconds = 0, seconds = 0;
};

// --- Data ---

/// Pictures with ground truth, and how they enter the model.
struct PictureData {
  PictureInput picture;
  Task task;
  Dataset data;
};

PictureData open_pictures(const TfEvalOptions& options, const ModelFacts& facts) {
  const Binding& input = picture_input(facts.inputs, options.input);
  PictureInput picture = resolve_preprocess(options.preprocess, *facts.engine, facts.folder, input);
  as_one_size(picture);
  const Task given = given_task(options.task);
  const ResolvedTask found = resolve_task(*facts.engine, given, picture.spec);
  std::string measured;
  const Task task = evaluation_task(found.task, given, measured);
  Dataset data = open_eval_data(options.data, *facts.engine, task);
  if (picture.known) print_note("note: preprocessing " + picture.text());
  print_note("note: task " + found.reason);
  for (const std::string& note : data.notes()) print_note("note: " + note);
  if (!measured.empty()) print_note("note: " + measured);
  return {std::move(picture), task, std::move(data)};
}

template<typename T>
void fill(Tensor& tensor, std::mt19937_64& generator, T high) {
  for (T& value : tensor.as<T>())
    value = static_cast<T>(static_cast<double>(generator() >> 11) / static_cast<double>(1ull << 53) *
                           static_cast<double>(high));
}

/// Floats of 0 to 1, bytes of 0 to 255, other integers 0 and 1, which are in any table.
Tensor synthetic_tensor(const Binding& input, const Shape& shape, std::mt19937_64& generator) {
  check(input.dtype != DType::string && !is_complex(input.dtype), ErrorCode::unsupported,
        "--data synthetic: cannot make values for input {}", input.to_string());
  if (input.dtype == DType::u8) {
    Tensor bytes = Tensor::allocate(DType::u8, shape);
    fill<std::uint8_t>(bytes, generator, 255);
    return bytes;
  }
  const bool real = is_float(input.dtype);
  Tensor values = Tensor::allocate(real ? DType::f32 : DType::i64, shape);
  if (real)
    fill<float>(values, generator, 1);
  else
    fill<std::int64_t>(values, generator, 2);
  if (values.dtype() == input.dtype) return values;
  Tensor tensor = Tensor::allocate(input.dtype, shape);
  copy_tensor(values, tensor);
  return tensor;
}

// --- Conversion ---

/// All shapes, so that the engines' kernels are timed for them: those of --shape, the pictures' size, the
/// batch.
std::map<std::string, Shape> run_shapes(const TfEvalOptions& options, const ModelFacts& facts,
                                        const BuildOptions& build, const PictureData* pictures) {
  std::map<std::string, Shape> known;
  for (const auto& [input, range] : build.shapes) known[input] = range.opt;
  const Binding* first = &facts.inputs.at(0);
  if (pictures) first = &picture_input(facts.inputs, pictures->picture.input);
  const std::int64_t fixed = first->dims.empty() ? 1 : first->dims[0];
  check(fixed < 0 || options.batch == 0 || options.batch == fixed, ErrorCode::invalid_argument,
        "--batch {}: input {} has a fixed first dimension", options.batch, first->to_string());
  const std::int64_t batch = fixed > 0 ? fixed : std::max(1, options.batch);
  if (pictures && !known.contains(first->name)) {
    std::vector<std::int64_t> dims{batch};
    const Preprocess& spec = pictures->picture.spec;
    for (const std::int64_t dim : output_shape(spec, spec.width, spec.height)) dims.push_back(dim);
    known[first->name] = Shape(std::move(dims));
  }
  return settled_shapes(*facts.engine, known, static_cast<int>(batch));
}

/// As it was saved, where it has engines and nothing else was asked for; else converted anew.
tf::Model converted(const TfEvalOptions& options, tf::ConvertOptions convert) {
  const std::filesystem::path path = options.engine.model;
  ProgressBar bar("convert");
  convert.build.control = {interrupt_token(), bar.callback()};
  if (!options.native && !options.engine.given.has("precision")) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      tf::Model saved = tf::Model::load(path, convert);
      if (std::ranges::any_of(saved.parts(), &tf::ConvertedPart::engine)) return saved;
    }
  }
  return tf::Model::convert(open_path(model_path(path), given_limits()), convert, model_folder(path));
}

tf::ConvertOptions convert_options(const TfEvalOptions& options, BuildOptions build,
                                   const std::map<std::string, Shape>& shapes) {
  tf::ConvertOptions convert;
  convert.build = std::move(build);
  for (const auto& [input, shape] : shapes) convert.build.shapes[input] = ShapeRange::fixed(shape);
  convert.minimum_segment_size = options.native ? -1 : options.minimum_segment_size;
  return convert;
}

// --- Runs ---

void run_synthetic(const TfEvalOptions& options, const ModelFacts& facts,
                   const std::map<std::string, Shape>& shapes, TimedModel& model, TfEvaluation& result) {
  std::mt19937_64 generator(options.seed);
  const int runs = options.runs > 0 ? options.runs : 100;
  ProgressBar bar("eval");
  for (int i = 0; i < runs; ++i) {
    Items inputs;
    for (const Binding& input : facts.inputs)
      inputs[input.name] = synthetic_tensor(input, shapes.at(input.name), generator);
    model.run(inputs);
    bar.update(i + 1, runs, "runs");
  }
  result.items = runs * result.batch;
}

void run_pictures(const PictureData& pictures, const ModelFacts& facts,
                  const std::map<std::string, Shape>& shapes, TimedModel& model, TfEvaluation& result) {
  const std::string& name = pictures.picture.input;
  EvaluateOptions how;
  how.input = name;
  how.preprocess = pictures.picture.spec;
  how.batch = static_cast<int>(result.batch);
  how.worst = 0;
  how.threads = std::clamp(default_threads(), 2, most_readers);
  how.limits = given_limits();
  how.on_failed = [](const Error& error) { print_note("tf eval: " + error.message()); };
  ProgressBar bar("eval");
  how.control = {interrupt_token(), bar.callback()};
  Items inputs; // Others than the picture are zeros.
  for (const Binding& input : facts.inputs)
    if (input.name != name) inputs[input.name] = Tensor::zeros(input.dtype, shapes.at(input.name));
  how.run = [&](const Tensor& batch) {
    inputs[name] = batch.shape() == shapes.at(name) ? batch : batch.reshaped(shapes.at(name));
    std::map<std::string, Tensor> outputs;
    for (auto& [output, item] : model.run(inputs))
      if (!item.is_sequence()) outputs[output] = item.tensor;
    return outputs;
  };
  result.accuracy = evaluate(*facts.engine, pictures.task, pictures.data, how);
  result.items = result.accuracy->images;
}

// --- Results ---

std::string precision_text(const TfEvalOptions& options) {
  if (options.native) return "native";
  const std::string given = options.engine.given.text("precision");
  return given.empty() ? "as the model has it" : given;
}

std::size_t engine_count(const tf::Model& model) {
  return static_cast<std::size_t>(std::ranges::count_if(model.parts(), &tf::ConvertedPart::engine));
}

double sum_of(const std::vector<double>& times) {
  double sum = 0;
  for (const double time : times) sum += time;
  return sum;
}

Json number_or_null(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json result_json(const TfEvalOptions& options, const TimedModel& model, const TfEvaluation& result) {
  const double run_seconds = sum_of(model.times());
  Json json{{"model", options.engine.model},
            {"data", options.data.data},
            {"native", options.native},
            {"precision", options.native ? Json() : Json(options.engine.given.text("precision"))},
            {"batch", result.batch},
            {"images", result.items},
            {"failed", result.accuracy ? result.accuracy->failed : 0},
            {"share", model.model().share()},
            {"engines", engine_count(model.model())},
            {"runs", model.times().size()},
            {"throughput", static_cast<double>(result.items) / run_seconds},
            {"latency", latency_json(latency_of(model.times()))},
            {"top1", nullptr},
            {"metrics", Json::object()},
            {"convert_seconds", result.convert_seconds},
            {"run_seconds", run_seconds},
            {"seconds", result.seconds}};
  if (!result.accuracy) return json;
  for (const Metric& metric : result.accuracy->metrics)
    json["metrics"][metric.name] = number_or_null(metric.value);
  if (json["metrics"].contains("top1")) json["top1"] = json["metrics"]["top1"];
  return json;
}

std::string result_text(const TfEvalOptions& options, const TimedModel& model, const TfEvaluation& result) {
  const Latency latency = latency_of(model.times());
  const std::size_t engines = engine_count(model.model());
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<24}{}\n", name, value);
  };
  line("precision", precision_text(options));
  line("converted", fmt::format("{:.1f} % of the nodes, in {} engine{}", 100 * model.model().share(), engines,
                                engines == 1 ? "" : "s"));
  line("inputs", fmt::format("{} in batches of {}", result.items, result.batch));
  if (result.accuracy)
    for (const Metric& metric : result.accuracy->metrics) line(metric.title, metric_text(metric.value));
  line("throughput",
       fmt::format("{:.1f} a second", static_cast<double>(result.items) / sum_of(model.times())));
  line("latency, mean", seconds_text(latency.mean));
  line("latency, p99", seconds_text(latency.p99));
  line("total time",
       fmt::format("{}, conversion {}", seconds_text(result.seconds), seconds_text(result.convert_seconds)));
  return text;
}

void check_options(const TfEvalOptions& options) {
  check(!options.native || !options.engine.given.has("precision"), ErrorCode::invalid_argument,
        "tf eval: --native runs the model in its own types; leave --precision out");
  check(options.runs == 0 || options.synthetic(), ErrorCode::invalid_argument,
        "--runs is for --data synthetic; other data is run once");
  check(!options.synthetic() || !(options.task.given() || options.preprocess.given()),
        ErrorCode::invalid_argument,
        "--data synthetic: has no images and no ground truth; leave options of tasks and preprocessing out");
}

int run_tf_eval(const TfEvalOptions& options) {
  const auto start = Clock::now();
  check_options(options);
  Files files;
  declare_task_files(options.task, files);
  const ModelFacts facts = inspect(options.engine, files);
  check(!facts.plan, ErrorCode::invalid_argument,
        "{}: is a plan; expected a TensorFlow model, or measure the plan with lanner eval and lanner bench",
        options.engine.model);
  check(!facts.inputs.empty(), ErrorCode::unsupported, "{}: has no inputs", options.engine.model);
  std::optional<PictureData> pictures;
  if (!options.synthetic()) pictures.emplace(open_pictures(options, facts));
  BuildOptions build = build_options(options.engine, options.native ? 0 : default_budget);
  const auto shapes = run_shapes(options, facts, build, pictures ? &*pictures : nullptr);
  TfEvaluation result;
  const Shape& first = shapes.at(pictures ? pictures->picture.input : facts.inputs[0].name);
  result.batch = first.rank() > 0 ? first[0] : 1;
  const auto convert_start = Clock::now();
  TimedModel model(converted(options, convert_options(options, std::move(build), shapes)), options.warmup);
  result.convert_seconds = seconds_since(convert_start);
  if (pictures)
    run_pictures(*pictures, facts, shapes, model, result);
  else
    run_synthetic(options, facts, shapes, model, result);
  result.seconds = seconds_since(start);
  if (options.json)
    print_json(result_json(options, model, result));
  else
    print_text(result_text(options, model, result));
  check(!result.accuracy || result.accuracy->failed == 0, ErrorCode::bad_data,
        "tf eval: {} of {} pictures could not be read", result.accuracy ? result.accuracy->failed : 0,
        pictures ? pictures->data.size() : 0);
  return 0;
}

} // namespace

void add_tf_eval(Command& tf, Action& action) {
  auto [command, options] = make_command<TfEvalOptions>(
      tf, action, "eval", "Measure speed and accuracy of a TensorFlow model as it is converted.",
      run_tf_eval);
  command
      .add_option(
          "model", options->engine.model,
          "The folder of a SavedModel, a frozen GraphDef, or a MetaGraph; a folder of lanner convert or "
          "TF-TRT runs with its engines")
      .required();
  add_eval_data_options(command, options->data, "; or the word synthetic: random values for all inputs");
  command.add_flag("--native", options->native,
                   "Without engines: all nodes run on kernels chosen without timing");
  command.add_option("--batch", options->batch, "Images in one run").range(1, 65536);
  command.add_option("--runs", options->runs, "synthetic: how many batches are run (default: 100)")
      .range(1, 100'000'000);
  command.add_option("--seed", options->seed, "synthetic: seed of the values").show_default();
  command.add_option("--warmup", options->warmup, "Runs before the first one that counts")
      .range(0, 1'000'000)
      .show_default();
  command
      .add_option("--min-segment", options->minimum_segment_size,
                  "Parts with fewer nodes stay native; -1: everything does")
      .show_default();
  command.add_flag("--json", options->json, "As one JSON object; times in seconds");
  command.add_option("--input", options->input,
                     "Name of the input that takes images, where the model has several inputs");
  add_task_options(command, options->task);
  add_preprocess_options(command, options->preprocess);
  add_engine_options(command, options->engine);
  command.layout("Data and results", {"--data", "--native", "--precision", "--batch", "--runs", "--json",
                                      "--image-key", "--label-key", "--labels", "--preset", "--size",
                                      "--signature", "--budget", "--device", "--threads"});
  command.footer(
      "Prints the share of nodes in engines, accuracy, throughput, mean and 99th percentile of the latency, "
      "and the\n"
      "total time. Throughput and latency are those of the runs alone: images are read and preprocessed "
      "outside.\n\n"
      "Examples:\n"
      "  lanner tf eval saved_model/ --data 'imagenet/validation-*' --preset imagenet-tf --precision fp16\n"
      "  lanner tf eval saved_model/ --data synthetic --batch 8 --json\n"
      "  lanner tf eval saved_model/ --data imagenet/val --native");
}

} // namespace lanner::tool
