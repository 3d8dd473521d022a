#include <lanner/tensorflow.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>
#include <lanner/model_folder.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "builder/int8/batches.h"
#include "calibration/tensorrt_cache.h"
#include "engine/environment_state.h"
#include "engine/initialisers.h"
#include "importers/graph_source.h"
#include "importers/tensorflow/flat_graph.h"
#include "tf/convert/division.h"
#include "tf/convert/model_state.h"
#include "tf/convert/saved_model_file.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

using Items = std::map<std::string, Item>;

ImportOptions import_options(const BuildOptions& build, const std::filesystem::path& folder,
                             const Limits& limits) {
  ImportOptions options{build.environment.state().ops, folder, limits};
  options.on_data_file = build.on_data_file;
  options.outputs = build.outputs;
  options.tensorflow = build.tensorflow;
  return options;
}

void check_options(const ConvertOptions& options) {
  const BuildOptions& build = options.build;
  const auto refuse = [](bool given, const char* name) {
    check(!given, ErrorCode::invalid_argument,
          "{}: concerns single inputs and outputs of an engine, and a converted model may have several "
          "engines; build the model with Engine::build instead",
          name);
  };
  refuse(!build.images.empty(), "images");
  refuse(!build.states.empty(), "states");
  refuse(!build.aliases.empty(), "aliases");
  refuse(!build.storages.empty(), "storages");
  refuse(!build.profiles.empty(), "profiles");
  refuse(!build.overwritable.empty(), "overwritable");
  check(options.minimum_segment_size == -1 || options.minimum_segment_size > 0, ErrorCode::invalid_argument,
        "minimum_segment_size {}: expected at least 1, or -1 for no engines", options.minimum_segment_size);
}

/// Gives inputs the shapes that the caller fixed, so that sizes within the model become known.
void apply_shapes(ImportModel& model, const std::map<std::string, ShapeRange>& shapes) {
  std::set<std::string> known;
  for (ImportValue& input : model.graph.inputs) {
    known.insert(input.shown());
    const auto given = shapes.find(input.shown());
    if (given == shapes.end()) continue;
    const ShapeRange& range = given->second;
    Dims dims;
    for (std::size_t d = 0; d < range.min.rank(); ++d)
      dims.push_back(range.min[d] == range.max[d] ? Dim(range.min[d])
                     : input.type->ranked() && d < input.type->rank() && !input.type->dims()[d].is_constant()
                         ? input.type->dims()[d]
                         : Dim::symbol(fmt::format("unknown__{}", d)));
    check(!input.type->ranked() || input.type->rank() == dims.size(), ErrorCode::invalid_argument,
          "shape of {}: rank {}, the model has {}", input.shown(), dims.size(), input.type->to_string());
    input.type = Type(input.type->dtype(), std::move(dims));
  }
  for (const auto& [name, range] : shapes)
    check(known.contains(name), ErrorCode::not_found, "shape of {}: the model has no such input", name);
}

std::vector<Binding> bindings_of(const std::vector<ImportValue>& values, const Division& division) {
  std::vector<Binding> bindings;
  for (const ImportValue& value : values)
    bindings.push_back(binding(value.shown(), value.type ? *value.type : type_of(division, value.name)));
  return bindings;
}

bool wants_int8(const BuildOptions& build) {
  return build.precision.types.contains(DType::i8);
}

bool has_ranges(const Calibration& calibration) {
  return calibration.data || !calibration.data_file.empty() || !calibration.table_file.empty() ||
         !calibration.table.ranges.empty() || !calibration.ranges.empty();
}

/// The precision that a saved engine's node says, where the caller gives none.
void take_saved_precision(const PartPlan& plan, BuildOptions& build) {
  if (plan.precision.empty() || build.precision.types != Precision().types) return;
  if (plan.precision == "FP16") build.precision.types.insert(DType::f16);
  if (plan.precision != "INT8") return;
  const bool own = !plan.calibration.empty() && !is_tensorrt_cache(plan.calibration);
  if (!own && !has_ranges(build.calibration)) {
    log_message(LogLevel::warning,
                fmt::format("{}: it was in INT8 by a calibration of TensorRT's, whose tensors have other "
                            "names; it is in FP32 now: give precision int8 with calibration data",
                            plan.name));
    return;
  }
  build.precision.types.insert(DType::i8);
  if (own && !has_ranges(build.calibration))
    build.calibration.table = CalibrationTable::parse(plan.calibration);
}

/// Options of one part. Native nodes run by kernels chosen without timing, in the model's own precision.
BuildOptions part_options(const ConvertOptions& options, const PartPlan& plan, CalibrationData data) {
  BuildOptions build = options.build;
  build.shapes.clear();
  build.outputs.clear();
  build.calibration.data_file.clear();
  build.calibration.data = std::move(data);
  if (plan.engine) {
    take_saved_precision(plan, build);
  } else {
    build.precision = {};
    build.budget = 0;
    build.calibration = {};
  }
  return build;
}

Part build_part(const std::shared_ptr<const Division>& division, const PartPlan& plan,
                const BuildOptions& build) {
  const auto start = std::chrono::steady_clock::now();
  const auto source = std::make_shared<GraphSource>(plan.name, [division, plan](const ImportOptions& import) {
    return tensorflow::graph_of(part_model(*division, plan, import.limits), import);
  });
  Part part{plan, Engine::build(source, build), {}};
  part.facts = {plan.name, plan.engine, plan.nodes.size(), part.engine.inputs(), part.engine.outputs(), 0};
  part.facts.build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return part;
}

/// Runs parts one after the other; `seen` is called with the inputs of each before it runs.
Items run_parts(const ModelState& state, std::vector<Context>& contexts, const Items& inputs,
                const Control& control, const std::function<void(std::size_t, const Items&)>& seen) {
  Items values;
  const ImportGraph& graph = state.division->flat.graph;
  for (const ImportValue& input : graph.inputs) {
    const auto given = inputs.find(input.shown());
    check(given != inputs.end(), ErrorCode::invalid_argument, "input {}: no value was given",
          one_line(input.shown(), 200));
    values[input.name] = given->second;
  }
  for (const auto& [name, value] : inputs)
    check(std::ranges::find(graph.inputs, name, &ImportValue::shown) != graph.inputs.end(),
          ErrorCode::invalid_argument, "the model has no input '{}'", one_line(name, 200));
  for (std::size_t p = 0; p < state.parts.size(); ++p) {
    const PartPlan& plan = state.parts[p].plan;
    Items given;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) given[input_binding(i)] = values.at(plan.inputs[i]);
    if (seen) seen(p, given);
    Items results = with_context([&] { return plan.name; }, [&] { return contexts[p](given, control); });
    contexts[p].unbind(); // nothing of this run stays bound for the next one
    for (std::size_t i = 0; i < plan.outputs.size(); ++i)
      values[plan.outputs[i]] = std::move(results[output_binding(i)]);
  }
  Items outputs;
  for (const ImportValue& output : graph.outputs) outputs[output.shown()] = values.at(output.name);
  return outputs;
}

std::vector<Context> contexts_of(const ModelState& state, int threads) {
  std::vector<Context> contexts;
  ContextOptions options;
  options.threads = threads;
  for (const Part& part : state.parts) contexts.push_back(part.engine.create_context(options));
  return contexts;
}

/// What each part is given on the calibration data, which runs through the model in its own precision.
std::vector<std::vector<Items>> part_inputs(const std::shared_ptr<const Division>& division,
                                            const ConvertOptions& options) {
  ConvertOptions plain = options;
  plain.build.precision = {};
  plain.build.calibration = {};
  plain.build.budget = 0;
  ModelState state;
  state.division = division;
  for (const PartPlan& plan : division->parts)
    state.parts.push_back(build_part(division, plan, part_options(plain, plan, {})));
  std::vector<Context> contexts = contexts_of(state, 0);
  std::vector<std::vector<Items>> seen(state.parts.size());
  const CalibrationData& data = options.build.calibration.data;
  bool restart = true;
  for (auto batch = data(restart); batch; batch = data(restart)) {
    restart = false;
    run_parts(state, contexts, *batch, options.build.control, [&](std::size_t p, const Items& items) {
      if (state.parts[p].plan.engine) seen[p].push_back(items);
    });
  }
  return seen;
}

CalibrationData replayed(std::vector<Items> batches) {
  return [batches = std::move(batches), next = std::size_t{0}](bool restart) mutable -> std::optional<Items> {
    if (restart) next = 0;
    if (next >= batches.size()) return std::nullopt;
    return batches[next++];
  };
}

void build_parts(ModelState& state, const std::filesystem::path& plans) {
  const ConvertOptions& options = state.options;
  std::vector<std::vector<Items>> seen;
  if (wants_int8(options.build) && options.build.calibration.data)
    seen = part_inputs(state.division, options);
  for (std::size_t p = 0; p < state.division->parts.size(); ++p) {
    const PartPlan& plan = state.division->parts[p];
    if (auto loaded = loaded_part(plan, plans, options)) {
      state.parts.push_back(std::move(*loaded));
      continue;
    }
    CalibrationData data = seen.empty() ? CalibrationData() : replayed(std::move(seen[p]));
    state.parts.push_back(build_part(state.division, plan, part_options(options, plan, std::move(data))));
  }
  for (const Part& part : state.parts) state.facts.push_back(part.facts);
}

std::shared_ptr<ModelState> made_state(ImportModel flat, const ConvertOptions& options,
                                       const ImportOptions& import, bool saved,
                                       const std::filesystem::path& plans) {
  auto state = std::make_shared<ModelState>();
  state->options = options;
  apply_shapes(flat, options.build.shapes);
  state->division = std::make_shared<const Division>(saved ? divide_as_saved(std::move(flat), import)
                                                           : divide(std::move(flat), options, import));
  Calibration& calibration = state->options.build.calibration;
  if (wants_int8(options.build) && !calibration.data_file.empty()) {
    const auto graph = tensorflow::graph_of(state->division->flat, import);
    calibration.data = batches_of(calibration.data_file, *graph, import.limits);
    calibration.data_file.clear();
  }
  state->inputs = bindings_of(state->division->flat.graph.inputs, *state->division);
  state->outputs = bindings_of(state->division->flat.graph.outputs, *state->division);
  build_parts(*state, plans);
  return state;
}

std::shared_ptr<ModelState> read_state(const SourcePtr& model, const ConvertOptions& options,
                                       const std::filesystem::path& folder, bool saved) {
  check_options(options);
  return with_context(
      [&] { return fmt::format("convert {}", model->name()); },
      [&] {
        const BuildOptions& build = options.build;
        const Limits limits = build.environment.state().within(build.limits);
        const auto account = std::make_shared<Account>(limits, build.environment.state().thread_settings);
        const AccountScope charged(account);
        const DeadlineScope deadline(limits, build.control.cancel);
        const ImportOptions import = import_options(build, folder, limits);
        ImportModel flat = tensorflow::read_flat_graph(
            model, import, saved ? tensorflow::EngineNodes::kept : tensorflow::EngineNodes::inlined);
        return made_state(std::move(flat), options, import, saved, saved ? folder : "");
      });
}

bool is_counted(const ConvertedNode& node) {
  static const std::set<std::string, std::less<>> others{"Const", "Placeholder", "Identity", "NoOp"};
  return !others.contains(node.op);
}

} // namespace

Model Model::convert(SourcePtr model, const ConvertOptions& options, const std::filesystem::path& folder) {
  return Model(read_state(model, options, folder, false));
}

Model Model::convert(const std::filesystem::path& model, const ConvertOptions& options) {
  return convert(open_path(model_path(model), options.build.limits), options, model_folder(model));
}

Model Model::load(const std::filesystem::path& folder, const ConvertOptions& options) {
  return Model(
      read_state(open_path(model_path(folder), options.build.limits), options, model_folder(folder), true));
}

Model Model::load(SourcePtr model, const ConvertOptions& options, const std::filesystem::path& folder) {
  return Model(read_state(model, options, folder, true));
}

void Model::save(const std::filesystem::path& folder, bool engines) const {
  with_context([&] { return fmt::format("save {}", folder.string()); },
               [&] { write_converted(*state_, folder, engines); });
}

const std::vector<Binding>& Model::inputs() const {
  return state_->inputs;
}
const std::vector<Binding>& Model::outputs() const {
  return state_->outputs;
}
const std::vector<ConvertedNode>& Model::nodes() const {
  return state_->division->nodes;
}
const std::vector<ConvertedPart>& Model::parts() const {
  return state_->facts;
}

double Model::share() const {
  std::size_t all = 0, converted = 0;
  for (const ConvertedNode& node : nodes()) {
    if (!is_counted(node)) continue;
    ++all;
    converted += !node.engine.empty();
  }
  return all == 0 ? 1.0 : static_cast<double>(converted) / static_cast<double>(all);
}

std::string Model::summary() const {
  std::string text;
  const auto count = std::ranges::count_if(nodes(), is_counted);
  text += fmt::format("{} nodes, {:.1f} % of them in engines\n", count, 100 * share());
  for (const ConvertedPart& part : parts()) {
    text += fmt::format("{}: {} nodes, {}, built in {:.2f} s\n", part.name, part.nodes,
                        part.engine ? "an engine" : "native", part.build_seconds);
    for (const Binding& input : part.inputs) text += "  in   " + input.to_string() + "\n";
    for (const Binding& output : part.outputs) text += "  out  " + output.to_string() + "\n";
  }
  std::map<std::pair<std::string, std::string>, std::size_t> natives;
  for (const ConvertedNode& node : nodes())
    if (node.engine.empty() && is_counted(node)) ++natives[{node.op, node.reason}];
  for (const auto& [key, number] : natives)
    text += fmt::format("native: {} {}: {}\n", number, key.first, one_line(key.second, 200));
  return text;
}

void Model::build(const Items& inputs, const Control& control) const {
  std::vector<Context> contexts = contexts_of(*state_, 0);
  run_parts(*state_, contexts, inputs, control, [&](std::size_t p, const Items& items) {
    if (!state_->parts[p].plan.engine) return;
    std::map<std::string, Shape> shapes;
    for (const auto& [name, item] : items) shapes[name] = item.tensor.shape();
    state_->parts[p].engine.prepare({Variant{std::move(shapes), 0}}, control);
  });
}

struct Runner::State {
  std::shared_ptr<const ModelState> model;
  std::vector<Context> contexts;
};

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Runner Model::create_runner(int threads) const {
  return Runner(std::make_unique<Runner::State>(Runner::State{state_, contexts_of(*state_, threads)}));
}

Items Runner::operator()(const Items& inputs, const Control& control) {
  return run_parts(*state_->model, state_->contexts, inputs, control, {});
}

} // namespace lanner::tf
