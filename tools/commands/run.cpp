// lanner run: images and clips in, answers, annotated video and a report out.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <lanner/draw.h>
#include <lanner/error.h>
#include <lanner/option_table.h>

#include "check.h"
#include "command.h"
#include "commands/run_summary.h"
#include "commands/runner.h"
#include "commands/second_network.h"
#include "input/files.h"
#include "input/input_values.h"
#include "input/inputs.h"
#include "input/labels.h"
#include "input/media.h"
#include "input/native_size.h"
#include "input/pipe_source.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/option_rows.h"
#include "options/range_options.h"
#include "options/reader_options.h"
#include "output/accuracy.h"
#include "output/clip_options.h"
#include "output/console.h"
#include "output/outputs.h"
#include "report/report.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

constexpr double clip_budget =
    3; ///< Seconds of timing kernels that a clip is worth; single pictures go by heuristics.

struct RunOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  TaskOptions task;
  ResultOptions results;
  RangeOptions range;
  SecondNetworkOptions then;
  ReaderOptions reader; ///< --conceal alone.
  ClipOptions clips;
  std::vector<std::string> inputs, values;
  std::string input, output, format, json, truth, report;
  int batch = 0, clips_at_once = 0;
  bool quiet = false;
};

/// All files except those that the model itself names.
Files declare_files(const RunOptions& options, const std::vector<RunInput>& inputs) {
  Files files;
  declare_task_files(options.task, files);
  declare_input_values(options.values, files);
  files.reads("--truth", options.truth);
  for (const RunInput& input : inputs)
    files.reads("-i", input.path == stdin_name ? "/dev/stdin" : input.path);
  declare_outputs(inputs, files);
  files.writes("--json", options.json);
  files.writes("--report", options.report);
  declare_results(options.results, files);
  declare_second_network(options.then, files);
  return files;
}

bool answers_to_stdout(const RunOptions& options) {
  return names_stdout(options.json);
}

bool has_clips(const std::vector<RunInput>& inputs) {
  return std::ranges::any_of(inputs, [](const RunInput& input) { return !input.still; });
}

bool pictures_to_stdout(const std::vector<RunInput>& inputs) {
  return std::ranges::any_of(inputs, [](const RunInput& input) { return input.output == "-"; });
}

void check_options(const RunOptions& options, const std::vector<RunInput>& inputs, bool clips) {
  check(!pictures_to_stdout(inputs) || !answers_to_stdout(options), ErrorCode::invalid_argument,
        "-o - and --json - would both write to standard output; give one a file");
  check(clips || !options.range.given(), ErrorCode::invalid_argument,
        "--start, --end, --fps, --stride and --frames are for clips; {}",
        inputs.size() == 1 ? "the input is an image" : "the inputs are images");
  to_range(options.range); // Checked before the work starts.
  if (options.truth.empty()) return;
  check(!options.json.empty() && !is_direct(options.json), ErrorCode::invalid_argument,
        "--truth needs --json FILE: accuracy is measured on the answers in that file");
  check(inputs.size() == 1, ErrorCode::invalid_argument, "--truth describes one clip, {} inputs were given",
        inputs.size());
  kind_of(options.truth);
}

/// Checks before anything runs that the task has what was asked for.
void check_task(const RunOptions& options, TaskKind kind) {
  check(options.truth.empty() || kind == TaskKind::detect, ErrorCode::invalid_argument,
        "--truth: expected task detect, the task is {}", to_string(kind));
  check(options.output.empty() || can_draw(kind), ErrorCode::invalid_argument,
        "-o {}: task {} has nothing to draw; leave -o out, or declare what the outputs mean by --task and "
        "--head",
        options.output, to_string(kind));
}

/// Frames in one run: the model's fixed batch, else --batch.
int batch_size(const RunOptions& options, const Binding& input) {
  const bool single = input.dims.size() == 3 && input.image.empty(); // One image, without a batch.
  const std::int64_t fixed = single ? 1 : input.dims[0];
  check(fixed < 0 || options.batch == 0 || options.batch == fixed, ErrorCode::invalid_argument,
        "--batch {}: input {} has {}", options.batch, input.to_string(),
        single ? "no batch: it takes one picture" : "a fixed first dimension");
  check(fixed <= 65536, ErrorCode::limit_exceeded, "input {}: a batch of {} is too large", input.to_string(),
        fixed);
  return fixed > 0 ? static_cast<int>(fixed) : std::max(1, options.batch);
}

/// Whether lists of boxes have one for each image.
bool has_batch(const Engine& engine, const Task& task) {
  return std::ranges::any_of(engine.outputs(), [&](const Binding& output) {
    return output.name == task.outputs.at("boxes") && output.dims.size() == 3;
  });
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  check(!error, ErrorCode::io, "-o {}: {}", path, error.message());
}

std::string accuracy_text(const Accuracy& accuracy) {
  return fmt::format("mean IoU        {:.3f}\nclass accuracy  {:.3f}\nrecall          {:.3f}\nprecision      "
                     " {:.3f}\nmAP50           {:.3f}\nmAP50-95        {:.3f}\n",
                     accuracy.mean_iou(), accuracy.class_accuracy(), accuracy.recall(), accuracy.precision(),
                     accuracy.ap50, accuracy.ap);
}

std::string totals_text(const RunTotals& totals) {
  const std::int64_t count = totals.frames + totals.pictures;
  const char* what = totals.clips > 0 ? "frame" : "image";
  return fmt::format("{} {}{} in {:.2f} s, {:.1f} a second\n", count, what, count == 1 ? "" : "s",
                     totals.seconds, totals.seconds > 0 ? static_cast<double>(count) / totals.seconds : 0.0);
}

/// `-i picture model` gives all words to -i, which takes any number: the last of them is the model.
RunOptions with_model(RunOptions options) {
  if (!options.engine.model.empty()) return options;
  check(options.inputs.size() > 1, ErrorCode::invalid_argument,
        "run: MODEL is required; see lanner run --help");
  options.engine.model = options.inputs.back();
  options.inputs.pop_back();
  return options;
}

/// What runs: first what is known, so that errors come before the work, then the built engine.
struct Networks {
  ModelFacts facts;
  PictureInput picture;
  ResolvedTask task;
  std::optional<SecondNetwork> then;
  int batch = 1;                         ///< Images, or frames of clips, in one run.
  bool fixed_batch = false;              ///< The network has a fixed batch.
  std::optional<NativeSize> native_size; ///< Where the network's size is open, or follows the image's.
  std::map<std::string, Tensor> inputs;  ///< Values given for the other inputs.
  std::optional<Engine> engine;
  std::optional<BuildTimes> times;
  std::optional<CropRunner> crops;
};

Networks read_networks(const RunOptions& options, Files& files) {
  Networks nets;
  nets.facts = inspect(options.engine, files);
  const Engine& engine = *nets.facts.engine;
  nets.inputs = read_input_values(options.values, engine);
  const Binding& input = picture_input(nets.facts.inputs, options.input, nets.inputs);
  check_all_given(engine, input.name, nets.inputs);
  nets.picture = resolve_preprocess(options.preprocess, engine, nets.facts.folder, input, true);
  nets.task = resolve_task(engine, given_task(options.task), nets.picture.spec);
  const bool open = nets.picture.spec.width == 0 || nets.picture.spec.height == 0;
  const bool follows = nets.picture.follows_picture();
  if (input.image.empty() && open && !follows && !has_native_size(*nets.task.task.kind))
    check_size(options.preprocess, input, nets.picture.spec);
  if (input.image.empty() && (open || follows)) nets.native_size.emplace();
  check_task(options, *nets.task.task.kind);
  nets.batch = batch_size(options, input);
  nets.fixed_batch = input.dims[0] > 0;
  check(nets.batch == 1 || nets.task.task.head != Head::torchvision || has_batch(engine, nets.task.task),
        ErrorCode::invalid_argument, "--batch {}: the outputs of head torchvision are lists for one picture",
        nets.batch);
  if (!options.then.given()) return nets;
  nets.then.emplace(options.then, options.engine, nets.task.task, files);
  check_crop_results(options.results, *nets.then->task().task.kind);
  return nets;
}

/// The size becomes part of the network only if all images have it.
void settle_size(const RunOptions& options, const std::vector<RunInput>& inputs, Networks& nets) {
  NativeSize& own = *nets.native_size;
  own = find_native_size(inputs, nets.picture.spec);
  if (own.width == 0 && nets.picture.spec.width > 0) { // From a pipe: the whole target fits any.
    as_one_size(nets.picture);
    return nets.native_size.reset();
  }
  check(own.width > 0, ErrorCode::invalid_argument,
        "input {} leaves its height and width open, and no image's size is known before the run: it comes "
        "through a pipe, or cannot be read; give {} WIDTHxHEIGHT",
        picture_input(nets.facts.inputs, nets.picture.input).to_string(), options.preprocess.flag("size"));
  const Preprocess said = nets.picture.spec;
  const bool unchanged = said.width == 0 && said.shorter_side == 0 && said.longer_side == 0;
  if (!own.several) nets.picture.spec = own.spec;
  if (options.quiet) return;
  print_note(own.several ? "note: each image at its native size; --size sets one for all"
                         : fmt::format("note: size {}x{}, {}; --size sets another", own.width, own.height,
                                       unchanged ? fmt::format("as {} has it", own.name)
                                                 : fmt::format("for {}", own.name)));
}

/// Kernels are chosen for the first image's size and reused for the others'.
void leave_size_open(const Networks& nets, int batch, BuildOptions& build) {
  const Binding& input = picture_input(nets.facts.inputs, nets.picture.input);
  build.preprocess[input.name] = nets.picture.spec;
  if (build.shapes.contains(input.name)) return;
  const NativeSize& own = *nets.native_size;
  const std::int64_t channels = nets.picture.spec.gray ? 1 : 3;
  const bool single = input.dims.size() == 3; // Three dimensions take one image, without a batch.
  std::vector<std::int64_t> sizes = nets.picture.spec.channels_last
                                        ? std::vector<std::int64_t>{own.height, own.width, channels}
                                        : std::vector<std::int64_t>{channels, own.height, own.width};
  if (!single) sizes.insert(sizes.begin(), input.dims[0] >= 0 ? input.dims[0] : batch);
  ShapeRange range = ShapeRange::fixed(Shape(sizes));
  if (!single && input.dims[0] < 0) range.min[0] = 1;
  build.profiles.push_back({{input.name, range}});
}

Engine open_network(const RunOptions& options, Networks& nets, BuildOptions build, int batch) try {
  return open_engine(nets.facts, options.engine, std::move(build), batch, &nets.times);
} catch (const Error& error) {
  if (!nets.native_size) throw;
  Preprocess spec = nets.picture.spec;
  spec.width = nets.native_size->width, spec.height = nets.native_size->height;
  throw about_size(error, spec);
}

void build_networks(const RunOptions& options, const std::vector<RunInput>& inputs, Networks& nets) {
  if (!options.quiet) print_note("note: task " + nets.task.reason);
  if (!options.quiet && nets.picture.known) print_note("note: preprocessing " + nets.picture.text());
  if (const std::string note = labels_note(options.engine.model, nets.task.task);
      !options.quiet && !note.empty())
    print_note(note);
  if (nets.then && !options.quiet) print_note("note: then task " + nets.then->task().reason);
  if (nets.native_size) settle_size(options, inputs, nets);
  const bool clips = has_clips(inputs);
  BuildOptions build = build_options(options.engine, clips ? clip_budget : 0);
  // Kernels are chosen for the sizes of the coming runs.
  if (!clips && !nets.fixed_batch)
    nets.batch = static_cast<int>(
        std::min(static_cast<std::size_t>(nets.batch), std::max<std::size_t>(1, inputs.size())));
  for (const auto& [name, tensor] : nets.inputs)
    build.shapes.emplace(name, ShapeRange::fixed(tensor.shape()));
  if (nets.native_size && nets.native_size->several)
    leave_size_open(nets, nets.batch, build);
  else
    build.images[nets.picture.input].preprocess = nets.picture.spec;
  nets.engine = open_network(options, nets, std::move(build), nets.batch);
  if (nets.then) nets.crops.emplace(nets.then->open(clips ? clip_budget : 0));
}

Runner::Settings settings_of(const RunOptions& options, Networks& nets, const FoundInputs& found) {
  Runner::Settings settings{.picture = nets.picture,
                            .reader = TaskReader(nets.task.task, *nets.engine, nets.picture.spec)};
  settings.batch = nets.batch;
  settings.native_size = nets.native_size && nets.native_size->several;
  if (nets.crops) settings.then = &*nets.crops;
  settings.inputs = nets.inputs;
  settings.lines =
      options.json.empty() && options.output.empty() && !options.quiet && !pictures_to_stdout(found.inputs);
  settings.name_sources = found.inputs.size() > 1;
  settings.json_to_stdout = answers_to_stdout(options);
  settings.conceal = options.reader.conceal();
  settings.notes = !options.quiet;
  settings.range = to_range(options.range);
  settings.clips_at_once = options.clips_at_once;
  settings.failed = found.failed;
  return settings;
}

/// Answers of readable inputs are kept; that others could not be read is the last line and the exit code.
void check_all_read(const RunTotals& totals, std::size_t inputs) {
  check(totals.failed == 0, ErrorCode::bad_data, "run: {} of {} inputs could not be read", totals.failed,
        inputs);
}

std::string summary_text(const RunTotals& totals, const Networks& nets, const EngineSummary& summary,
                         const std::optional<Accuracy>& accuracy) {
  std::optional<EngineSummary> then;
  if (nets.then) then.emplace(*nets.then->engine(), nets.then->facts(), nets.then->times());
  return totals_text(totals) + (accuracy ? accuracy_text(*accuracy) : "") +
         run_summary(totals, summary, then ? &*then : nullptr);
}

int run_run(const RunOptions& given) {
  const RunOptions options = with_model(given);
  FoundInputs found = find_inputs(options.inputs, options.engine.model);
  std::vector<RunInput>& inputs = found.inputs;
  place_outputs(options.output, options.format, inputs);
  options.clips.resolve(options.output, inputs);
  check_options(options, inputs, has_clips(inputs));
  Files files = declare_files(options, inputs);
  Networks nets = read_networks(options, files);
  build_networks(options, inputs, nets);
  Runner::Settings settings = settings_of(options, nets, found);

  if (options.output.ends_with('/')) make_folder(options.output);
  std::optional<Recorder> recorder;
  if (!options.report.empty()) settings.recorder = &recorder.emplace();
  std::optional<OutputFile> report;
  if (recorder) report.emplace(options.report);
  ResultOutputs results(options.results, nets.task.task);
  if (!results.empty()) settings.results = &results;
  std::optional<ByteOutput> json;
  if (!options.json.empty() && !settings.json_to_stdout)
    settings.json = &json.emplace("--json", options.json);
  note_untimed(*nets.engine, options.engine);
  Runner runner(*nets.engine, settings);
  runner.run(inputs);
  const RunTotals& totals = runner.totals();
  if (totals.clips + totals.pictures == 0) check_all_read(totals, inputs.size() + found.failed);
  if (json) json->commit();
  results.finish();

  std::optional<Accuracy> accuracy;
  if (!options.truth.empty()) accuracy = measure_accuracy(options.json, options.truth);
  const EngineSummary summary(*nets.engine, nets.facts, nets.times);
  const std::string text = summary_text(totals, nets, summary, accuracy);
  const bool to_stdout =
      !settings.json_to_stdout && !pictures_to_stdout(inputs) && (!settings.lines || accuracy);
  to_stdout ? print_text(text) : tell_terminal("\n" + text);
  if (report)
    write_report(*report,
                 {options.engine.model, inputs, *nets.engine, nets.facts, nets.picture, nets.task.reason,
                  nets.batch, totals, summary, *recorder, accuracy, nets.then ? &*nets.then : nullptr},
                 interrupt_token());
  check_all_read(totals, inputs.size() + found.failed);
  return 0;
}

void add_run_help(Command& command) {
  command.layout("Inputs and outputs",
                 {"-i",    "-o",       "--json",   "--report",    "--batch",           "-q",       "--start",
                  "--end", "--frames", "--task",   "--labels",    "--score-threshold", "--preset", "--size",
                  "--fit", "--then",   "--device", "--precision", "--budget",          "--threads"});
  command.footer(
      "Answers go to stdout, a line a frame, unless -o or --json is given. Preprocessing is "
      "declared here, in "
      "the plan, in the model's\n"
      "metadata (lanner.preprocess), or known from what ultralytics, torchvision, timm or transformers "
      "leave in or\n"
      "beside a model, in this order; it is never guessed.\n"
      "Without --codec the container decides: .webm gets VP9 or AV1, .avi MPEG-4, .gif, .apng and .webp "
      "their own, others H.264. Inputs that cannot "
      "be read "
      "among "
      "several inputs\n"
      "are reported, the others run, and the exit code is 2.\n\n"
      "Examples:\n  lanner run squeezenet.onnx -i orange.png --preset caffe --labels labels.txt\n"
      "  lanner run detector.onnx -i clip.mp4 -o marked.mp4 --json answers.jsonl --report report.html\n"
      "  lanner run detector.onnx -i clip.mp4 -o marked.mkv -c:v hevc --crf 24 --codec-preset slow\n"
      "  lanner run detector.onnx -i clip.mp4 --fps 10 -o marked.gif\n"
      "  lanner run model.plan -i a.jpg b.jpg clip.mp4 -o marked/ --json - | jq .top[0].label\n"
      "  lanner run model.plan -i 'pictures/**/*.jpg' @more.txt -o out_%05d.png\n"
      "  lanner run detector.onnx -i clip.mp4 --then classifier.onnx --then-labels labels.txt -o marked.mp4\n"
      "  lanner run model.plan -i 1.mp4 2.mp4 3.mp4 --batch 8 --start 1:30 --fps 5 -o marked/\n"
      "  ffmpeg -i rtsp://... -an -c copy -f matroska - | lanner run model.plan -i - -o - | mpv -");
}

} // namespace

void add_run(Command& program, Action& action) {
  auto [command, options] = make_command<RunOptions>(
      program, action, "run", "Run images and clips through a network: answers, marked video, report.",
      run_run);
  command.add_option("model", options->engine.model,
                     "A model (ONNX, TensorFlow, Caffe), or a plan of lanner build");
  command
      .add_option(
          "-i", options->inputs,
          "Images and clips in any mixture: files, folders, 'patterns' with * and **, img_%05d.png, lists "
          "(@list or list.txt), named pipes, - for stdin")
      .required();
  command.add_option("-o", options->output,
                     "Annotated clip or image, a folder for several, images (out_%05d.png), or - for stdout");
  command.add_option("-f,--format", options->format,
                     "Container of the output, where its name has no known extension: mp4, mkv, webm, mov, "
                     "avi, ts, gif, apng, webp, y4m ...; "
                     "for -o - mkv, or png for an image");
  command.add_option("--json", options->json,
                     "Answers as one JSON object a line, into a file, or - for stdout");
  add_result_options(command, options->results);
  command.add_option("--report", options->report,
                     "A self-contained HTML page: annotated images, speed, kernels");
  command.add_option("--truth", options->truth,
                     "Ground truth of the clip, one JSON object a line: measures accuracy");
  command.add_option("--input", options->input,
                     "Name of the input that takes images, where the model has several inputs");
  command
      .add_option("--inputs", options->values,
                  "Values of the model's other inputs, the same for each image: NAME=VALUE, a number, a list "
                  "like [[1,2],[3,4]] or a .safetensors file with one tensor; or a .safetensors file with a "
                  "tensor of each name; may be given several times")
      .one_value();
  command
      .add_option("--batch", options->batch,
                  "Images, or frames of clips, in one run: several clips are decoded in parallel "
                  "and share a batch")
      .range(1, 65536);
  command
      .add_option("--clips-at-once", options->clips_at_once,
                  "Clips decoded in parallel (default: as many as a batch has frames, 16 at most)")
      .range(1, 1024);
  command.add_flag("-q,--quiet", options->quiet, "No answers and notes");
  OptionRows(command, options->reader.given).add(reader_option_table(), {"raise_on_error"});
  add_range_options(command, options->range);
  options->clips.add(command);
  add_task_options(command, options->task);
  add_preprocess_options(command, options->preprocess);
  add_second_network_options(command, options->then);
  add_engine_options(command, options->engine, {OptionUse::new_shapes, OptionUse::plans});
  add_run_help(command);
}

} // namespace lanner::tool
