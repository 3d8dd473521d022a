// lanner build: makes a plan from a model.

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include <lanner/error.h>

#include "check.h"
#include "command.h"
#include "commands/engine_summary.h"
#include "input/calibration_pictures.h"
#include "input/labels.h"
#include "options/engine_options.h"
#include "output/console.h"
#include "output/json_text.h"
#include "output/task.h"

namespace lanner::tool {
namespace {

constexpr double default_budget = 10;

struct BuildCommandOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  TaskOptions task;
  std::string output, input, picture, print_ir;
  bool strip_weights = false, quiet = false, json = false;
};

void check_options(const BuildCommandOptions& options) {
  const bool stops = options.engine.given.has("stop_after");
  check(!options.output.empty() || !options.print_ir.empty() || stops ||
            options.engine.given.has("trace_passes"),
        ErrorCode::invalid_argument, "build: no output; give -o FILE for the plan, or --print-ir");
  check(!options.strip_weights || !options.output.empty(), ErrorCode::invalid_argument,
        "build: --strip-weights concerns the plan; give -o FILE");
  check(options.output.empty() || !stops, ErrorCode::invalid_argument,
        "build: --stop-after ends before there is a plan; give it with --print-ir, without -o");
  check(options.print_ir != "lowered" || !stops, ErrorCode::invalid_argument,
        "build: --stop-after ends before lowering; expected --print-ir without =lowered");
  check(
      !options.json || (!options.output.empty() && options.print_ir.empty() && !options.quiet),
      ErrorCode::invalid_argument,
      "build: --json prints the summary of the plan that -o writes; give -o FILE, without --print-ir and -q");
  check(options.print_ir.empty() || options.print_ir == "canonical" || options.print_ir == "lowered",
        ErrorCode::invalid_argument, "--print-ir={}: expected canonical or lowered", options.print_ir);
}

/// What the plan stores about the input that takes images.
void add_picture(const BuildCommandOptions& options, const ModelFacts& facts, BuildOptions& build) {
  if (!options.preprocess.given() && options.input.empty() && options.picture.empty()) return;
  std::optional<PixelFormat> format;
  if (!options.picture.empty() && options.picture != "any")
    format =
        with_context([] { return "--image-input"; }, [&] { return parse_pixel_format(options.picture); });
  const Binding& input = picture_input(facts.inputs, options.input);
  PictureInput picture =
      resolve_preprocess(options.preprocess, *facts.engine, facts.folder, input, options.picture.empty());
  if (picture.known) print_note("note: preprocessing " + picture.text());
  if (!options.picture.empty()) as_one_size(picture);
  if (!picture.follows_picture()) check_size(options.preprocess, input, picture.spec);
  if (options.picture.empty())
    build.preprocess[picture.input] = picture.spec;
  else
    build.images[picture.input] = {format, picture.spec};
}

/// The summary of the plan, as text or JSON.
void tell(const BuildCommandOptions& options, const EngineSummary& summary) {
  const std::uintmax_t bytes = std::filesystem::file_size(options.output);
  const std::vector<StepGroup> groups = summary.groups();
  const std::vector<std::string> advice = summary.advice({});
  if (options.json) {
    Json json = summary.json();
    json["plan"] = {{"path", options.output}, {"bytes", bytes}};
    json["where"] = where_json(groups);
    json["advice"] = advice;
    print_json(json);
    return;
  }
  std::string text =
      summary.text() + fmt::format("plan     {}, {}\n", one_line(options.output), bytes_text(bytes));
  if (!groups.empty()) text += "\nwhere the time goes, by the kernels' own timing\n" + where_text(groups);
  if (!advice.empty()) text += "\nwhat holds it back\n" + advice_text(advice);
  print_text(text);
}

/// Where open sizes could not be settled, the summary has no times.
void tell_unsized(const BuildCommandOptions& options, const Engine& engine, const std::string& why) {
  const std::uintmax_t bytes = std::filesystem::file_size(options.output);
  if (options.json)
    print_json({{"name", engine.name()},
                {"open_sizes", true},
                {"notes", {why}},
                {"plan", {{"path", options.output}, {"bytes", bytes}}}});
  else
    print_text(fmt::format("{}\nnote     {}\nplan     {}, {}\n", one_line(engine.name()), one_line(why),
                           one_line(options.output), bytes_text(bytes)));
}

void tell_plan(const BuildCommandOptions& options, const Engine& engine, const ModelFacts& facts,
               const std::optional<BuildTimes>& times) {
  std::optional<EngineSummary> summary;
  try {
    summary.emplace(engine, facts, times);
  } catch (const Error& error) {
    if (!engine.open_sizes() || error.code() != ErrorCode::invalid_argument) throw;
    return tell_unsized(options, engine, error.message());
  }
  tell(options, *summary);
}

/// Stores the resolved task in the plan, so that it is the same wherever the plan is used.
void add_task(const BuildCommandOptions& options, const ModelFacts& facts, BuildOptions& build) {
  if (!options.task.given()) return;
  check(!build.metadata.contains("lanner.task"), ErrorCode::invalid_argument,
        "--metadata: 'lanner.task' is given by --metadata and by --task or its options; give it once");
  const ResolvedTask task = resolve_task(*facts.engine, given_task(options.task));
  build.metadata["lanner.task"] = task.task.to_json();
  print_note("note: task " + task.reason);
  if (const std::string note = labels_note(options.engine.model, task.task); !note.empty()) print_note(note);
}

/// Checked now, as a task that cannot be read would otherwise fail only when the plan runs.
void check_metadata(const BuildOptions& build) {
  const auto task = build.metadata.find("lanner.task");
  if (task == build.metadata.end()) return;
  with_context([] { return "--metadata lanner.task"; },
               [&] { static_cast<void>(Task::from_json(task->second)); });
}

int run_build(const BuildCommandOptions& options) {
  check_options(options);
  Files files;
  declare_task_files(options.task, files);
  files.writes("-o", options.output);
  files.writes_into("--trace-passes", options.engine.given.text("trace_passes"), ".ir");
  ModelFacts facts = inspect(options.engine, files);
  check(!facts.plan, ErrorCode::invalid_argument, "{}: is already a plan; expected a model",
        options.engine.model);
  BuildOptions build = build_options(options.engine, default_budget);
  check_metadata(build);
  add_picture(options, facts, build);
  add_task(options, facts, build);
  if (calibrates_on_pictures(build))
    take_calibration_pictures(facts, options.preprocess, options.input, build);
  std::optional<BuildTimes> times;
  const Engine engine = open_engine(facts, options.engine, build, 0, &times);
  if (!options.print_ir.empty())
    print_text(options.print_ir == "lowered" ? engine.lowered_ir() : engine.ir());
  flush_out();
  if (!options.output.empty())
    engine.save(options.output, {.weights = !options.strip_weights, .control = build.control});
  if (!options.output.empty() && options.print_ir.empty() && !options.quiet)
    tell_plan(options, engine, facts, times);
  return 0;
}

} // namespace

void add_build(Command& program, Action& action) {
  auto [command, options] = make_command<BuildCommandOptions>(
      program, action, "build", "Optimise and tune a model for this machine, and write a plan.", run_build);
  command.add_option("model", options->engine.model, "A model: ONNX, TensorFlow GraphDef, Caffe").required();
  command.add_option("-o,--output", options->output, "The plan to write");
  command.add_flag("--strip-weights", options->strip_weights,
                   "Leave the model's weights out of the plan; loading it then needs --weights");
  command.add_flag("-q,--quiet", options->quiet, "Print no summary");
  command.add_flag("--json", options->json, "Print the summary as one JSON object; times in seconds");
  command.add_option("--input", options->input,
                     "Name of the input that takes images, where the model has several inputs");
  command.add_flag("--image-input{any}", options->picture,
                   "The plan takes images of any size in place of tensors (docs/images.md); "
                   "--image-input=nv12: of this pixel format only");
  command.add_flag(
      "--print-ir{canonical}", options->print_ir,
      "Print the graph on stdout; --print-ir=lowered: with fused nodes, memory layouts and kernels");
  OptionRows(command, options->engine.given).add(build_option_table(), OptionUse::build);
  add_engine_options(command, options->engine, {OptionUse::profiles, OptionUse::callers});
  add_preprocess_options(command, options->preprocess);
  add_task_options(command, options->task);
  command.layout("The plan", {"-o", "--json", "-q", "--image-input", "--shape", "--profile", "--precision",
                              "--budget", "--device", "--threads", "--weights", "--outputs", "--preset",
                              "--size", "--fit", "--task", "--head", "--labels"});
  command.footer(
      "Preprocessing that is given here is stored in the plan, for programs that bind images; with "
      "--image-input "
      "it is a part of the network. So is what the outputs "
      "mean.\n\n"
      "Examples:\n  lanner build model.onnx -o model.plan\n  lanner build resnet50.onnx -o resnet50.plan "
      "--preset imagenet --budget 30s --threads 2\n"
      "  lanner build resnet50.onnx -o resnet50.plan --preset imagenet --fit crop --image-input\n"
      "  lanner build yolov8n.onnx -o yolov8n.plan --task detect --head yolo_v8 --labels coco.txt\n"
      "  lanner build model.onnx -o model.plan --shape input:1x3x224x224:8x3x224x224:32x3x224x224\n"
      "  lanner build model.onnx -o model.plan --profile input=1x3x224x224:1x3x224x224:4x3x224x224 "
      "--profile input=5x3x224x224:32x3x224x224:64x3x224x224\n"
      "  lanner build resnet50.onnx -o resnet50.plan --precision int8 --calibrate photos/ --preset imagenet\n"
      "  lanner build decoder.onnx -o decoder.plan --state past=present --storage mask=row:fp16\n"
      "  lanner build model.onnx --print-ir --stop-after fold_constants");
}

} // namespace lanner::tool
