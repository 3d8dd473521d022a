// A converted model as one plan or ONNX file.

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/tf_export.h>

#include "base/check.h"
#include "base/file/file.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "engine/environment_state.h"
#include "importers/graph_source.h"
#include "importers/onnx/onnx_writer.h"
#include "importers/tensorflow/flat_graph.h"
#include "passes/pipeline.h"
#include "tf/export/model_access.h"

namespace lanner::tf {
namespace {

constexpr std::size_t most_named = 5, longest_name = 100;

/// Native nodes, by which a model is not one engine. `divided_by_flow`: without control flow that engines of
/// saved models cannot have, which a plan has, and what is too small beside it.
std::string native_names(const Model& model, bool divided_by_flow = false) {
  std::string names;
  std::size_t count = 0;
  for (const ConvertedNode& node : model.nodes()) {
    if (!node.engine.empty() || node.code == "constant") continue;
    if (node.op == "Const" || node.op == "Identity" || node.op == "NoOp") continue;
    if (divided_by_flow && (node.code == "control_flow" || node.code == "segment_too_small")) continue;
    if (++count <= most_named)
      names +=
          fmt::format("{}{} ({})", names.empty() ? "" : ", ", one_line(node.name, longest_name), node.op);
  }
  return count > most_named ? fmt::format("{} and {} more", names, count - most_named) : names;
}

void check_whole(const Model& model) {
  if (std::ranges::any_of(model.nodes(), [](const auto& node) { return node.code == "control_flow"; })) {
    const std::string others = native_names(model, true);
    return check(others.empty(), ErrorCode::unsupported,
                 "a plan is of a model that is one engine, and of this one nodes are native: {}", others);
  }
  const auto natives = std::ranges::count(model.parts(), false, &ConvertedPart::engine);
  const auto engines = static_cast<std::ptrdiff_t>(model.parts().size()) - natives;
  check(natives == 0, ErrorCode::unsupported,
        "a plan is of a model that is one engine, and of this one nodes are native: {}", native_names(model));
  check(
      engines == 1, ErrorCode::unsupported,
      "a plan is of a model that is one engine, and this one has {}; build it as a whole with Engine::build",
      engines);
}

/// The options of the conversion, with the precision that a saved engine's node says.
BuildOptions plan_options(const ModelState& state, const Control& control) {
  BuildOptions build = state.options.build;
  build.outputs.clear();
  build.control = control;
  const std::string& precision = state.division->parts.at(0).precision;
  if (build.precision.types != Precision().types || precision.empty()) return build;
  check(precision != "INT8", ErrorCode::unsupported,
        "the engine was saved in INT8, with ranges for its own tensors; convert the model again with "
        "calibration data");
  if (precision == "FP16") build.precision.types.insert(DType::f16);
  return build;
}

ImportOptions import_options(const ModelState& state) {
  const BuildOptions& build = state.options.build;
  ImportOptions options{build.environment.state().ops, {}, build.limits};
  options.tensorflow = build.tensorflow;
  return options;
}

/// In the canonical form where ONNX has it, else as it was imported.
std::string onnx_bytes(const ModelState& state) {
  constexpr const char* description = "converted from TensorFlow by lanner";
  const ImportOptions import = import_options(state);
  try {
    const std::unique_ptr<Graph> graph = tensorflow::graph_of(state.division->flat, import);
    PassOptions passes;
    passes.limits = import.limits;
    run_passes(*graph, passes);
    return onnx::write_onnx(*graph, description);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  return onnx::write_onnx(*tensorflow::graph_of(state.division->flat, import), description);
}

} // namespace

void save_plan(const Model& model, const std::filesystem::path& plan, const Control& control) {
  with_context([&] { return fmt::format("plan {}", plan.string()); },
               [&] {
                 check_whole(model);
                 const ModelState& state = ModelAccess::state(model);
                 const auto division = state.division;
                 const auto source =
                     std::make_shared<GraphSource>("model", [division](const ImportOptions& import) {
                       return tensorflow::graph_of(division->flat, import);
                     });
                 Engine::build(source, plan_options(state, control)).save(plan);
               });
}

void save_onnx(const Model& model, const std::filesystem::path& onnx) {
  with_context([&] { return fmt::format("ONNX file {}", onnx.string()); },
               [&] {
                 const ModelState& state = ModelAccess::state(model);
                 const EnvironmentState& environment = state.options.build.environment.state();
                 const auto account = std::make_shared<Account>(
                     environment.within(state.options.build.limits), environment.thread_settings);
                 const AccountScope charged(account);
                 const std::string bytes = onnx_bytes(state);
                 write_file(onnx, std::as_bytes(std::span(bytes)));
               });
}

} // namespace lanner::tf
