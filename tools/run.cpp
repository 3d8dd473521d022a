// lanner run: pictures and clips in, answers, marked video and a report out.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <lanner/error.h>

#include "accuracy.h"
#include "check.h"
#include "command.h"
#include "console.h"
#include "draw.h"
#include "engine_options.h"
#include "files.h"
#include "interrupt.h"
#include "media.h"
#include "report/report.h"
#include "runner.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr double clip_budget =
    3; ///< Seconds of timing kernels that a clip is worth; single pictures go by heuristics.

struct RunOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  TaskOptions task;
  std::vector<std::string> inputs;
  std::string input, output, json, truth, report;
  int batch = 0;
  bool quiet = false, conceal = false;
};

bool is_still_name(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg" || extension == ".PNG" ||
         extension == ".JPG" || extension == ".JPEG";
}

/// Where the marked form of an input goes: the file named, or a file of its name in the folder named.
std::string output_for(const RunOptions& options, const std::string& path, bool still) {
  if (options.output.empty()) return {};
  std::error_code ignored;
  const bool folder = options.output.ends_with('/') || fs::is_directory(options.output, ignored);
  check(folder || options.inputs.size() == 1, ErrorCode::invalid_argument,
        "-o {}: is one file for {} inputs; name a folder, with / at its end", options.output,
        options.inputs.size());
  if (folder)
    return (fs::path(options.output) / (fs::path(path).stem().string() + (still ? ".png" : ".mp4"))).string();
  const fs::path parent = fs::path(options.output).parent_path();
  check(parent.empty() || fs::is_directory(parent, ignored), ErrorCode::not_found,
        "-o {}: there is no folder {}", options.output, parent.string());
  check(still == is_still_name(options.output), ErrorCode::invalid_argument, "-o {}: {} is {}; name {}",
        options.output, path, still ? "an image" : "a video",
        still ? "a .png or .jpg" : "a video file, like marked.mp4");
  return options.output;
}

std::vector<RunInput> resolve_inputs(const RunOptions& options) {
  std::vector<RunInput> inputs;
  for (const std::string& path : options.inputs) {
    Media media = open_media(path);
    check(media.kind != FileKind::plan, ErrorCode::bad_data, "-i {}: is a plan; expected an image or a video",
          path);
    const bool still = media.kind == FileKind::image, pipe = !media.source->seekable();
    check(!still || !pipe, ErrorCode::unsupported,
          "-i {}: is an image in a pipe; write it to a file first (a clip may come through a pipe)", path);
    inputs.push_back({path, still, output_for(options, path, still), pipe ? media.source : nullptr});
  }
  return inputs;
}

/// All files but those that the model itself names.
Files declare_files(const RunOptions& options, const std::vector<RunInput>& inputs) {
  Files files;
  declare_task_files(options.task, files);
  files.reads("--truth", options.truth);
  for (const RunInput& input : inputs) files.reads("-i", input.path);
  for (const RunInput& input : inputs)
    files.writes(inputs.size() > 1 ? fmt::format("-o of {}", input.path) : "-o", input.output);
  files.writes("--json", options.json);
  files.writes("--report", options.report);
  return files;
}

void check_options(const RunOptions& options) {
  if (options.truth.empty()) return;
  check(!options.json.empty() && options.json != "-", ErrorCode::invalid_argument,
        "--truth needs --json FILE: accuracy is measured on the answers as they lie in it");
  check(options.inputs.size() == 1, ErrorCode::invalid_argument,
        "--truth is of one clip, {} inputs were given", options.inputs.size());
  kind_of(options.truth);
}

/// Before anything runs: whether what was asked for can be had of this task.
void check_task(const RunOptions& options, TaskKind kind) {
  check(options.truth.empty() || kind == TaskKind::detect, ErrorCode::invalid_argument,
        "--truth: is for task detect, the task is {}", to_string(kind));
  check(options.output.empty() || (kind != TaskKind::none && kind != TaskKind::embed),
        ErrorCode::invalid_argument,
        "-o {}: task {} has nothing to draw; leave -o out, or say what the outputs mean by --task and --head",
        options.output, to_string(kind));
  check(options.output.empty() || can_annotate(kind), ErrorCode::unsupported,
        "-o {}: answers of task {} are not drawn; leave -o out, --json has them", options.output,
        to_string(kind));
}

/// Frames in one run: what the model insists on, else what was asked for.
int batch_size(const RunOptions& options, const Binding& input) {
  const std::int64_t fixed = input.dims[0];
  check(fixed < 0 || options.batch == 0 || options.batch == fixed, ErrorCode::invalid_argument,
        "--batch {}: input {} has a fixed first dimension", options.batch, input.to_string());
  check(fixed <= 65536, ErrorCode::limit_exceeded, "input {}: a batch of {} is too large", input.to_string(),
        fixed);
  return fixed > 0 ? static_cast<int>(fixed) : std::max(1, options.batch);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  check(!error, ErrorCode::io, "-o {}: {}", path, error.message());
}

std::string accuracy_text(const Accuracy& accuracy) {
  return fmt::format(
      "mean IoU        {:.3f}\nclass accuracy  {:.3f}\nrecall          {:.3f}\nprecision       {:.3f}\n",
      accuracy.mean_iou(), accuracy.class_accuracy(), accuracy.recall(), accuracy.precision());
}

std::string totals_text(const RunTotals& totals) {
  const std::int64_t count = totals.frames + totals.pictures;
  return fmt::format("{} {} in {:.2f} s, {:.1f} a second\n", count, totals.clips > 0 ? "frames" : "images",
                     totals.seconds, totals.seconds > 0 ? static_cast<double>(count) / totals.seconds : 0.0);
}

/// `-i picture model` gives all to -i, which takes any number: the last of them is the model.
RunOptions with_model(RunOptions options) {
  if (!options.engine.model.empty()) return options;
  check(options.inputs.size() > 1, ErrorCode::invalid_argument,
        "run: model is required; see lanner run --help");
  options.engine.model = options.inputs.back();
  options.inputs.pop_back();
  return options;
}

int run_run(const RunOptions& given) {
  const RunOptions options = with_model(given);
  check_options(options);
  const std::vector<RunInput> inputs = resolve_inputs(options);
  Files files = declare_files(options, inputs);
  const bool clips = std::ranges::any_of(inputs, [](const RunInput& input) { return !input.still; });
  const ModelFacts facts = inspect(options.engine, files);
  const Binding& input = picture_input(*facts.engine, options.input);
  const PictureInput picture = resolve_preprocess(options.preprocess, *facts.engine, input);
  const ResolvedTask task = resolve_task(*facts.engine, given_task(options.task));
  check_task(options, *task.task.kind);
  const int batch = batch_size(options, input);
  BuildOptions build = build_options(options.engine, clips ? clip_budget : 0);
  build.pictures[picture.input].preprocess = picture.spec;
  if (!options.quiet) print_note("task " + task.reason);
  const Engine engine = open_engine(facts, options.engine, std::move(build), clips ? batch : 1);

  if (options.output.ends_with('/')) make_folder(options.output);
  std::optional<Recorder> recorder;
  if (!options.report.empty()) recorder.emplace();
  std::optional<OutputFile> report, json;
  if (recorder) report.emplace(options.report);
  if (!options.json.empty() && options.json != "-") json.emplace(options.json);
  const int still_batch = input.dims[0] > 0 ? batch : 1;
  Runner::Settings settings{picture,
                            TaskReader(task.task, engine, picture.spec),
                            batch,
                            still_batch,
                            options.json.empty() && !options.quiet,
                            inputs.size() > 1,
                            options.json == "-",
                            options.conceal,
                            json ? &*json : nullptr,
                            recorder ? &*recorder : nullptr};
  Runner runner(engine, settings);
  for (const RunInput& one : inputs) runner.run(one);
  if (json) json->commit();

  std::optional<Accuracy> accuracy;
  if (!options.truth.empty()) accuracy = measure_accuracy(options.json, options.truth);
  if (options.json != "-" && (!settings.lines || accuracy))
    print_text(totals_text(runner.totals()) + (accuracy ? accuracy_text(*accuracy) : ""));
  if (report)
    write_report(*report,
                 {options.engine.model, inputs, engine, facts, picture, task.reason, batch, runner.totals(),
                  *recorder, accuracy},
                 interrupt_token());
  return 0;
}

} // namespace

CLI::App* add_run(CLI::App& app, Action& action) {
  auto [command, options] = make_command<RunOptions>(
      app, action, "run", "Images and clips through a network: answers, marked video, report.", run_run);
  command->add_option("model", options->engine.model,
                      "A model (ONNX, TensorFlow, Caffe), or a plan of lanner build");
  command->add_option("-i", options->inputs, "Images and clips, in any mixture")->required();
  command->add_option("-o", options->output, "Marked clip or image, or a folder for several");
  command->add_option("--json", options->json,
                      "Answers as one JSON object a line, into a file, or - for stdout");
  command->add_option("--report", options->report,
                      "A self-contained HTML page of pictures, speed and what was decided");
  command->add_option("--truth", options->truth,
                      "What is in the clip, one JSON object a line: measures accuracy");
  command->add_option("--input", options->input, "The input that takes pictures, where there are several");
  command->add_option("--batch", options->batch, "Frames of a clip in one run")->check(CLI::Range(1, 65536));
  command->add_flag("-q,--quiet", options->quiet, "No answers on stdout");
  command->add_flag("--conceal", options->conceal,
                    "Damage in a clip is concealed, and what cannot be read ends it; else it is an error");
  add_task_options(*command, options->task);
  add_preprocess_options(*command, options->preprocess);
  add_engine_options(*command, options->engine);
  command->footer(
      "Answers go to stdout, a line a frame, unless --json takes them. Preprocessing is declared here, in "
      "the plan, or in the model's\n"
      "metadata (lanner.preprocess), in this order; it is never guessed.\n\n"
      "Examples:\n  lanner run squeezenet.onnx -i orange.png --preset caffe --labels labels.txt\n"
      "  lanner run detector.onnx -i clip.mp4 -o marked.mp4 --json answers.jsonl --report report.html\n"
      "  lanner run model.plan -i a.jpg b.jpg clip.mp4 -o marked/ --json - | jq .top[0].label");
  return command;
}

} // namespace lanner::tool
