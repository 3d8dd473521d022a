// lanner convert: a TensorFlow model with engines in it.

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/model_folder.h>
#include <lanner/tensorflow.h>
#include <lanner/tf_export.h>

#include "check.h"
#include "command.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "options/option_rows.h"
#include "output/console.h"
#include "output/json_text.h"
#include "report/conversion_report.h"

namespace lanner::tool {
namespace {

struct ConvertCommandOptions {
  EngineOptions engine;
  std::string output, report, plan, onnx, events;
  std::vector<std::string> built_for;
  bool without_engines = false, json = false;
};

Json bindings_json(const std::vector<Binding>& bindings) {
  Json list = Json::array();
  for (const Binding& binding : bindings) list.push_back(binding.to_string());
  return list;
}

Json ranges_json(const std::map<std::string, ShapeRange>& shapes) {
  Json ranges = Json::object();
  for (const auto& [input, range] : shapes)
    ranges[input] = {{"min", range.min.dims()}, {"opt", range.opt.dims()}, {"max", range.max.dims()}};
  return ranges;
}

/// What the cache of each engine part holds and did.
Json engines_json(const tf::Model& model) {
  Json engines = Json::array();
  for (const tf::EngineCounters& counters : model.counters()) {
    Json cached = Json::array(), native = Json::object();
    for (const tf::CachedEngine& engine : counters.cached)
      cached.push_back({{"shapes", ranges_json(engine.shapes)},
                        {"build_seconds", engine.build_seconds},
                        {"bytes", engine.bytes}});
    for (const auto& [cause, runs] : counters.native) native[std::string(to_string(cause))] = runs;
    engines.push_back({{"engine", counters.engine},
                       {"maximum", counters.maximum},
                       {"built", counters.built},
                       {"hits", counters.hits},
                       {"evicted", counters.evicted},
                       {"native", native},
                       {"weight_bytes", counters.weight_bytes},
                       {"build_error", counters.build_error},
                       {"cached", cached}});
  }
  return engines;
}

Json report_json(const tf::Model& model) {
  Json nodes = Json::array(), parts = Json::array();
  for (const tf::ConvertedNode& node : model.nodes())
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"engine", node.engine},
                     {"code", node.code},
                     {"reason", node.reason}});
  for (const tf::ConvertedPart& part : model.parts())
    parts.push_back({{"name", part.name},
                     {"engine", part.engine},
                     {"nodes", part.nodes},
                     {"inputs", bindings_json(part.inputs)},
                     {"outputs", bindings_json(part.outputs)},
                     {"build_seconds", part.build_seconds}});
  return {{"share", model.share()}, {"parts", parts}, {"engines", engines_json(model)}, {"nodes", nodes}};
}

/// The inputs of `--build-for`: zeros of the given shapes.
std::map<std::string, Item> inputs_of(const tf::Model& model, const std::string& text) {
  const auto& row = *find_option(build_option_table(), "profiles");
  const auto given = std::get<std::vector<NamedShapes>>(parse_option(row.info, text));
  std::map<std::string, Item> inputs;
  for (const Binding& input : model.inputs()) {
    const auto found = given.front().find(input.name);
    const bool known = std::ranges::none_of(input.dims, [](std::int64_t size) { return size < 0; });
    check(found != given.front().end() || (known && input.ranked), ErrorCode::invalid_argument,
          "--build-for '{}': expected a shape of input {}", text, input.to_string());
    inputs[input.name] =
        Tensor::zeros(input.dtype, found == given.front().end() ? Shape(input.dims) : found->second.max);
  }
  for (const auto& [name, range] : given.front())
    check(inputs.contains(name), ErrorCode::invalid_argument, "--build-for '{}': the model has no input '{}'",
          text, name);
  return inputs;
}

int run_convert(const ConvertCommandOptions& options) {
  check(!options.output.empty() || !options.without_engines, ErrorCode::invalid_argument,
        "convert: --without-engines concerns the folder that -o writes");
  Files files;
  files.writes("--report", options.report);
  files.writes("--plan", options.plan);
  files.writes("--onnx", options.onnx);
  std::optional<OutputFile> report;
  if (!options.report.empty()) report.emplace(options.report);
  tf::ConvertOptions convert;
  convert.build = build_options(options.engine, 0);
  options.engine.given.apply(convert, tf::convert_option_table());
  ProgressBar bar("convert");
  convert.build.control = {interrupt_token(), bar.callback()};
  const std::filesystem::path path = options.engine.model;
  const tf::Model model = tf::Model::convert(open_path(path, given_limits()), convert, model_folder(path));
  std::vector<std::map<std::string, Item>> built_for;
  for (const std::string& text : options.built_for) built_for.push_back(inputs_of(model, text));
  if (!built_for.empty()) model.build(built_for, {interrupt_token(), bar.callback()});
  if (!options.output.empty()) model.save(options.output, !options.without_engines);
  if (!options.plan.empty()) tf::save_plan(model, options.plan, convert.build.control);
  if (!options.onnx.empty()) tf::save_onnx(model, options.onnx);
  if (!options.events.empty()) tf::write_events(model, options.events);
  if (report) write_conversion_report(*report, options.engine.model, model);
  if (options.json)
    print_json(report_json(model));
  else
    print_text(model.summary());
  return 0;
}

} // namespace

void add_convert(Command& program, Action& action) {
  auto [command, options] = make_command<ConvertCommandOptions>(
      program, action, "convert", "Convert a TensorFlow model, in whole or in part.", run_convert);
  command
      .add_option("model", options->engine.model,
                  "The folder of a SavedModel, a frozen GraphDef, or a MetaGraph")
      .required();
  command.add_option("-o,--output", options->output,
                     "Folder of the SavedModel to write; default: only report");
  command
      .add_option("--build-for", options->built_for,
                  "Shapes of the inputs to build engines for, like x=8x224x224x3, several inputs comma "
                  "separated; may be given several times")
      .one_value();
  command.add_flag("--without-engines", options->without_engines,
                   "Leave the engines' plans out of the folder: they are built anew when it is loaded");
  command.add_option("--report", options->report,
                     "HTML page of the conversion: parts, and native nodes with their reasons");
  command.add_option("--plan", options->plan,
                     "Also build a plan of the whole model, which must be one engine; its names are the "
                     "signature's");
  command.add_option(
      "--onnx", options->onnx,
      "Also write the model as ONNX; operators without a counterpart there are refused by name");
  command.add_option("--events", options->events,
                     "Folder for TensorBoard's event files of the graph before and after");
  command.add_flag("--json", options->json, "As one JSON object, with every node");
  OptionRows(command, options->engine.given).heading("Conversion").add(tf::convert_option_table());
  add_engine_options(command, options->engine);
  command.layout("Conversion", {"-o", "--min-segment", "--max-engines", "--deny-node", "--deny-operator",
                                "--mode", "--build-for", "--max-cached-engines", "--without-engines",
                                "--report", "--plan", "--onnx", "--events", "--json", "--precision",
                                "--signature"});
  command.footer("Engines are TRTEngineOp nodes of the SavedModel, each with its native segment, as TF-TRT "
                 "wrote them; lanner.tf.load and Model::load run it without TensorFlow.\n\nExamples:\n"
                 "  lanner convert saved_model/ -o converted/\n"
                 "  lanner convert saved_model/ --min-segment 5 --deny-operator Softmax\n"
                 "  lanner convert saved_model/ -o converted/ --build-for x=1x224x224x3 --build-for "
                 "x=8x224x224x3\n"
                 "  lanner convert saved_model/ --plan model.plan --onnx model.onnx --events logs/");
}

} // namespace lanner::tool
