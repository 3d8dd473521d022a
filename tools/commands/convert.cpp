// lanner convert: a TensorFlow model with engines in it.

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/model_folder.h>
#include <lanner/tensorflow.h>

#include "check.h"
#include "command.h"
#include "interrupt.h"
#include "options/engine_options.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/json_text.h"
#include "report/conversion_report.h"

namespace lanner::tool {
namespace {

struct ConvertCommandOptions {
  EngineOptions engine;
  std::string output, report;
  int minimum_segment_size = 3, maximum_engines = 20;
  std::vector<std::string> denied_nodes, denied_operators;
  bool without_engines = false, json = false;
};

Json bindings_json(const std::vector<Binding>& bindings) {
  Json list = Json::array();
  for (const Binding& binding : bindings) list.push_back(binding.to_string());
  return list;
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
  return {{"share", model.share()}, {"parts", parts}, {"nodes", nodes}};
}

int run_convert(const ConvertCommandOptions& options) {
  check(!options.output.empty() || !options.without_engines, ErrorCode::invalid_argument,
        "convert: --without-engines concerns the folder that -o writes");
  Files files;
  files.writes("--report", options.report);
  std::optional<OutputFile> report;
  if (!options.report.empty()) report.emplace(options.report);
  tf::ConvertOptions convert;
  convert.build = build_options(options.engine, 0);
  convert.minimum_segment_size = options.minimum_segment_size;
  convert.maximum_engines = options.maximum_engines;
  convert.denied_nodes = options.denied_nodes;
  convert.denied_operators = options.denied_operators;
  ProgressBar bar("convert");
  convert.build.control = {interrupt_token(), bar.callback()};
  const std::filesystem::path path = options.engine.model;
  const tf::Model model = tf::Model::convert(open_path(path, given_limits()), convert, model_folder(path));
  if (!options.output.empty()) model.save(options.output, !options.without_engines);
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
  command.add_option("--min-segment", options->minimum_segment_size,
                     "Parts with fewer nodes stay native; -1: everything does");
  command.add_option("--max-engines", options->maximum_engines,
                     "Only the largest parts become engines; 0: no limit");
  command.add_option("--deny-node", options->denied_nodes, "Node that stays native");
  command.add_option("--deny-operator", options->denied_operators, "Operator that stays native");
  command.add_flag("--without-engines", options->without_engines,
                   "Leave the engines' plans out of the folder: they are built anew when it is loaded");
  command.add_option("--report", options->report,
                     "HTML page of the conversion: parts, and native nodes with their reasons");
  command.add_flag("--json", options->json, "As one JSON object, with every node");
  add_engine_options(command, options->engine);
  command.layout("Conversion", {"-o", "--min-segment", "--max-engines", "--deny-node", "--deny-operator",
                                "--without-engines", "--report", "--json", "--precision", "--signature"});
  command.footer("Engines are TRTEngineOp nodes of the SavedModel, each with its native segment, as TF-TRT "
                 "wrote them; lanner.tf.load and Model::load run it without TensorFlow.\n\nExamples:\n"
                 "  lanner convert saved_model/ -o converted/\n"
                 "  lanner convert saved_model/ --min-segment 5 --deny-operator Softmax");
}

} // namespace lanner::tool
