// lanner calibrate: finds the ranges of a network's values, for builds in INT8.

#include <filesystem>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>
#include <lanner/model_folder.h>

#include "check.h"
#include "command.h"
#include "input/calibration_pictures.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

struct CalibrateOptions {
  EngineOptions engine;
  PreprocessOptions preprocess;
  std::string output, input;
};

CalibrationTable found_ranges(const CalibrateOptions& options, BuildOptions build) {
  ProgressBar bar("calibrate");
  build.control = {interrupt_token(), bar.callback()};
  const std::filesystem::path model = options.engine.model;
  return calibrate(open_path(model, given_limits()), build,
                   model_folder(model));
}

int run_calibrate(const CalibrateOptions& options) {
  Files files;
  files.writes("-o", options.output);
  ModelFacts facts = inspect(options.engine, files);
  check(!facts.plan, ErrorCode::invalid_argument, "{}: is a plan; expected a model", options.engine.model);
  BuildOptions build = build_options(options.engine, 0);
  check(!build.calibration.data_file.empty(), ErrorCode::invalid_argument,
        "calibrate: no data; give --calibrate with images, or a safetensors file of samples");
  if (calibrates_on_pictures(build))
    take_calibration_pictures(facts, options.preprocess, options.input, build);
  facts.engine.reset();
  const CalibrationTable table = found_ranges(options, std::move(build));
  if (options.output.empty()) {
    print_text(table.to_string());
    return 0;
  }
  table.save(options.output);
  print_text(fmt::format("{}: the ranges of {} values\n", one_line(options.output), table.ranges.size()));
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
  add_engine_options(command, options->engine);
  add_preprocess_options(command, options->preprocess);
  command.layout("Ranges",
                 {"-o", "--calibrate", "--calibrator", "--value-range", "--preset", "--size", "--fit"});
  command.footer(
      "The model runs in FP32 on the samples. The table serves other builds of the model, on this machine "
      "and "
      "others.\n\nExamples:\n"
      "  lanner calibrate resnet50.onnx --calibrate photos/ --preset imagenet -o resnet50.calibration\n"
      "  lanner build resnet50.onnx --precision int8 --calibration resnet50.calibration -o resnet50.plan");
}

} // namespace lanner::tool
