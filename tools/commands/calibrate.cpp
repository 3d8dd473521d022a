// lanner calibrate: finds the ranges of a network's values, for builds in INT8.

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/model_folder.h>

#include "check.h"
#include "command.h"
#include "input/calibration_pictures.h"
#include "input/eval_data.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/int8_accuracy.h"
#include "output/task.h"

namespace lanner::tool {
namespace {

struct CalibrateOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  TaskOptions task;
  EvalDataOptions data; ///< Empty: accuracy is not measured.
  std::string output, input;
};

/// Pictures with ground truth, and how they enter the network.
struct Labelled {
  PictureInput picture;
  Task task;
  Dataset data;
};

Labelled open_labelled(const CalibrateOptions& options, const ModelFacts& facts) {
  PictureInput picture = resolve_preprocess(options.preprocess, *facts.engine, facts.folder,
                                            picture_input(facts.inputs, options.input));
  as_one_size(picture);
  const Task given = given_task(options.task);
  const ResolvedTask found = resolve_task(*facts.engine, given);
  std::string measured;
  const Task task = evaluation_task(found.task, given, measured);
  Dataset data = open_eval_data(options.data, *facts.engine, task);
  print_note("note: task " + found.reason);
  for (const std::string& note : data.notes()) print_note("note: " + note);
  return {std::move(picture), task, std::move(data)};
}

/// The accuracy of a build with these ranges beside FP32's. Calibration data, where there are any, guard it.
void tell_accuracy(const CalibrateOptions& options, ModelFacts& facts, const Labelled& labelled,
                   const CalibrationTable& table, BuildOptions build) {
  build.precision.types.insert(DType::i8);
  build.calibration.table = table;
  const Int8Engines engines = int8_engines(facts, options.engine, labelled.picture, 1, std::move(build));
  ProgressBar bar("eval");
  EvaluateOptions each;
  each.input = labelled.picture.input;
  each.preprocess = labelled.picture.spec;
  each.limits = given_limits();
  each.control = {interrupt_token(), bar.callback()};
  each.on_failed = [](const Error& error) { print_note("eval " + error.message()); };
  print_text(comparison_text(compare_with_fp32(engines, labelled.task, labelled.data, each)));
}

CalibrationTable found_ranges(const CalibrateOptions& options, BuildOptions build) {
  ProgressBar bar("calibrate");
  build.control = {interrupt_token(), bar.callback()};
  const std::filesystem::path model = options.engine.model;
  return calibrate(open_path(model, given_limits()), build, model_folder(model));
}

int run_calibrate(const CalibrateOptions& options) {
  Files files;
  declare_task_files(options.task, files);
  files.writes("-o", options.output);
  ModelFacts facts = inspect(options.engine, files);
  check(!facts.plan, ErrorCode::invalid_argument, "{}: is a plan; expected a model", options.engine.model);
  BuildOptions build = build_options(options.engine, 0);
  check(!build.calibration.data_file.empty(), ErrorCode::invalid_argument,
        "calibrate: no data; give --calibrate with images, or a safetensors file of samples");
  std::optional<Labelled> labelled;
  if (!options.data.data.empty()) {
    labelled.emplace(open_labelled(options, facts));
    fix_picture_shape(facts, labelled->picture, 1, build);
  }
  if (calibrates_on_pictures(build))
    take_calibration_pictures(facts, options.preprocess, options.input, build);
  facts.engine.reset();
  const CalibrationTable table = found_ranges(options, build);
  if (options.output.empty()) {
    print_text(table.to_string());
  } else {
    table.save(options.output);
    print_text(fmt::format("{}: the ranges of {} values\n", one_line(options.output), table.ranges.size()));
  }
  if (labelled) tell_accuracy(options, facts, *labelled, table, std::move(build));
  return 0;
}

} // namespace

void add_calibrate(Command& program, Action& action) {
  auto [command, options] = make_command<CalibrateOptions>(
      program, action, "calibrate", "Find the ranges of a model's values on samples, for builds in INT8.",
      run_calibrate);
  command.add_option("model", options->engine.model, "A model: ONNX, TensorFlow GraphDef, Caffe").required();
  command.add_option("-o,--output", options->output, "The calibration table to write; default: print it");
  command.add_option("--input", options->input,
                     "Name of the input that takes images, where the model has several inputs");
  command.add_option(
      "--data", options->data.data,
      "Images with ground truth, as for lanner eval: prints the accuracy in INT8 with these ranges "
      "beside FP32's, and the nodes that stay in FP32");
  command.add_option("--images", options->data.images, "Folder of the images, where --data does not name it");
  add_task_options(command, options->task);
  add_engine_options(command, options->engine);
  add_preprocess_options(command, options->preprocess);
  command.layout("Ranges", {"-o", "--calibrate", "--calibrator", "--value-range", "--data", "--preset",
                            "--size", "--fit"});
  command.footer(
      "The model runs in FP32 on the samples. The table serves other builds of the model, on this machine "
      "and "
      "others.\n\nExamples:\n"
      "  lanner calibrate resnet50.onnx --calibrate photos/ --preset imagenet -o resnet50.calibration\n"
      "  lanner calibrate resnet50.onnx --calibrate photos/ --preset imagenet -o resnet50.calibration "
      "--data imagenet/val\n"
      "  lanner build resnet50.onnx --precision int8 --calibration resnet50.calibration -o resnet50.plan");
}

} // namespace lanner::tool
