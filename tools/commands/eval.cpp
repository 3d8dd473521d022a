// lanner eval: measures a network's accuracy on images with ground truth.

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/evaluation.h>
#include <lanner/preprocess.h>
#include <lanner/threads.h>

#include "check.h"
#include "command.h"
#include "input/calibration_pictures.h"
#include "input/eval_data.h"
#include "input/files.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/byte_output.h"
#include "output/console.h"
#include "output/eval_text.h"
#include "output/int8_accuracy.h"
#include "output/json_text.h"
#include "output/task.h"
#include "report/eval_report.h"

namespace lanner::tool {
namespace {

constexpr double long_budget = 3;          ///< Seconds of timing kernels that many images are worth.
constexpr std::size_t many_pictures = 200; ///< With fewer images kernels are chosen by heuristics.

constexpr int most_readers = 8; ///< Threads that decode ahead; each holds an image or two.

struct EvalOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  TaskOptions task;
  EvalDataOptions data;
  std::string input, json, report;
  int batch = 0;
  std::size_t worst = 12;
};

Files declare_files(const EvalOptions& options) {
  Files files;
  declare_task_files(options.task, files);
  files.writes("--json", options.json);
  files.writes("--report", options.report);
  return files;
}

/// Images in one run: the model's fixed batch, else --batch.
int batch_size(const EvalOptions& options, const Binding& input) {
  const std::int64_t fixed = input.dims[0];
  check(fixed < 0 || options.batch == 0 || options.batch == fixed, ErrorCode::invalid_argument,
        "--batch {}: input {} has a fixed first dimension", options.batch, input.to_string());
  check(fixed <= 65536, ErrorCode::limit_exceeded, "input {}: a batch of {} is too large", input.to_string(),
        fixed);
  return fixed > 0 ? static_cast<int>(fixed) : std::max(1, options.batch);
}

/// How inputs, preprocessing and outputs were understood.
std::vector<std::string> notes_of(const std::string& reason, const std::string& measured,
                                  const Dataset& data) {
  std::vector<std::string> notes{"task " + reason};
  notes.insert(notes.end(), data.notes().begin(), data.notes().end());
  if (!measured.empty()) notes.push_back(measured);
  return notes;
}

EvaluateOptions evaluate_options(const EvalOptions& options, const PictureInput& picture, int batch,
                                 ProgressBar& bar) {
  EvaluateOptions all;
  all.input = picture.input;
  all.preprocess = picture.spec;
  all.batch = batch;
  all.worst = options.worst;
  all.threads = std::clamp(default_threads(), 2, most_readers);
  all.limits = given_limits();
  all.control = {interrupt_token(), bar.callback()};
  all.on_failed = [](const Error& error) { print_note("eval " + error.message()); };
  return all;
}

/// In a batch all images have one size: where a size would follow the image, pads to the whole target.
PictureInput whole_target(const EvalOptions& options, const ModelFacts& facts, const Binding& input) {
  PictureInput picture = resolve_preprocess(options.preprocess, *facts.engine, facts.folder, input);
  as_one_size(picture);
  return picture;
}

/// What is measured, and how.
struct Setting {
  const PictureInput& picture;
  const Task& task;
  const Dataset& data;
  int batch;
  const std::vector<std::string>& notes;
};

struct Measured {
  Engine engine;
  Evaluation evaluation;
  std::optional<Int8Accuracy> int8; ///< Where the build is in INT8.
};

Measured measure_plain(const EvalOptions& options, ModelFacts& facts, const Setting& set,
                       BuildOptions build) {
  build.images[set.picture.input].preprocess = set.picture.spec;
  const Engine engine = open_engine(facts, options.engine, std::move(build), set.batch);
  note_untimed(engine, options.engine);
  ProgressBar bar("eval");
  Evaluation evaluation =
      evaluate(engine, set.task, set.data, evaluate_options(options, set.picture, set.batch, bar));
  return {engine, std::move(evaluation), std::nullopt};
}

Measured measure_int8(const EvalOptions& options, ModelFacts& facts, const Setting& set, BuildOptions build) {
  fix_picture_shape(facts, set.picture, set.batch, build);
  if (calibrates_on_pictures(build))
    take_calibration_pictures(facts, options.preprocess, options.input, build);
  const Int8Engines engines = int8_engines(facts, options.engine, set.picture, set.batch, std::move(build));
  note_untimed(engines.int8, options.engine);
  ProgressBar bar("eval");
  Int8Accuracy both =
      compare_with_fp32(engines, set.task, set.data, evaluate_options(options, set.picture, set.batch, bar));
  Evaluation evaluation = both.int8;
  return {engines.int8, std::move(evaluation), std::move(both)};
}

Measured measure(const EvalOptions& options, ModelFacts& facts, const Setting& set) {
  BuildOptions build = build_options(options.engine, set.data.size() >= many_pictures ? long_budget : 0);
  const bool int8 = !facts.plan && build.precision.types.contains(DType::i8);
  Measured done = int8 ? measure_int8(options, facts, set, std::move(build))
                       : measure_plain(options, facts, set, std::move(build));
  done.evaluation.notes = set.notes;
  if (done.int8) done.int8->int8.notes = set.notes;
  return done;
}

/// Files that are written; opened first, as measuring takes long.
struct Written {
  explicit Written(const EvalOptions& options) {
    if (!options.report.empty()) report.emplace(options.report);
    if (!options.json.empty()) json.emplace("--json", options.json);
  }
  std::optional<OutputFile> report;
  std::optional<ByteOutput> json;
};

/// Text, JSON and page.
void tell(const EvalOptions& options, const ModelFacts& facts, const Measured& done, const Setting& set,
          Written& written) {
  auto& [report, json] = written;
  if (!names_stdout(options.json)) print_text(evaluation_text(done.evaluation));
  if (!names_stdout(options.json) && done.int8) print_text("\n" + comparison_text(*done.int8));
  if (json)
    json->write(visible_json(done.int8 ? json_text(done.int8->json()) : done.evaluation.to_json()) + "\n");
  if (json) json->commit();
  if (report)
    write_eval_report(*report, {options.engine.model, options.data.data, set.data, done.engine, facts,
                                set.picture, set.data.named(set.task), done.evaluation});
}

int run_eval(const EvalOptions& options) {
  Files files = declare_files(options);
  ModelFacts facts = inspect(options.engine, files);
  const Binding& input = picture_input(facts.inputs, options.input);
  const PictureInput picture = whole_target(options, facts, input);
  const Task given = given_task(options.task);
  const ResolvedTask found = resolve_task(*facts.engine, given);
  std::string measured;
  const Task task = evaluation_task(found.task, given, measured);
  const Dataset data = open_eval_data(options.data, *facts.engine, task);
  // The dataset's many files are checked only where something is written.
  if (!options.json.empty() || !options.report.empty()) declare_data(data, files);
  const int batch = batch_size(options, input);
  const std::vector<std::string> notes = notes_of(found.reason, measured, data);
  if (picture.known) print_note("note: preprocessing " + picture.text());
  for (const std::string& note : notes) print_note("note: " + note);

  Written written(options);
  const Setting setting{picture, task, data, batch, notes};
  const Measured done = measure(options, facts, setting);
  tell(options, facts, done, setting, written);
  const std::int64_t failed = done.evaluation.failed;
  check(failed == 0, ErrorCode::bad_data, "eval: {} of {} pictures could not be read", failed, data.size());
  return 0;
}

} // namespace

void add_eval(Command& program, Action& action) {
  auto [command, options] = make_command<EvalOptions>(
      program, action, "eval", "Measure a network's accuracy on images with ground truth.", run_eval);
  command
      .add_option("model", options->engine.model,
                  "A model (ONNX, TensorFlow, Caffe), or a plan of lanner build")
      .required();
  add_eval_data_options(command, options->data);
  command.add_option("--json", options->json, "All numbers as JSON, into a file, or - for stdout");
  command.add_option("--report", options->report,
                     "A self-contained HTML page of numbers, classes and the worst pictures");
  command.add_option("--worst", options->worst, "How many of the worst pictures are listed")
      .range(0, 1000)
      .show_default();
  command.add_option("--batch", options->batch, "Images in one run").range(1, 65536);
  command.add_option("--input", options->input,
                     "Name of the input that takes images, where the model has several inputs");
  add_task_options(command, options->task);
  add_preprocess_options(command, options->preprocess);
  add_engine_options(command, options->engine, {OptionUse::new_shapes, OptionUse::plans});
  command.layout("Data and results",
                 {"--data", "--images", "--json", "--report", "--batch", "--task", "--head", "--labels",
                  "--preset", "--size", "--fit", "--precision", "--budget", "--device", "--threads"});
  command.footer(
      "Detections count from a score of 0.001 on unless --score-threshold is given, as precision is measured "
      "at "
      "every\n"
      "recall. Images that cannot be read are reported, the others are measured, and the exit code is 2. "
      "docs/eval.md says how\n"
      "each number is made.\n\n"
      "Examples:\n  lanner eval resnet50.onnx --data imagenet/val --preset imagenet --labels labels.txt\n"
      "  lanner eval yolo11n.onnx --data coco/annotations/instances_val2017.json --images coco/val2017\n"
      "  lanner eval resnet50.onnx --data imagenet/val --preset imagenet --precision int8 --calibrate "
      "photos/\n"
      "  lanner eval detector.plan --data shapes/data.yaml --report report.html\n"
      "  lanner eval model.onnx --data pictures/ --json - | jq .metrics\n"
      "  lanner eval model.onnx --data 'imagenet/validation-*' --preset imagenet");
}

} // namespace lanner::tool
