#include <lanner/tensorflow.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>
#include <lanner/model_folder.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/one_line.h"
#include "builder/int8/batches.h"
#include "engine/environment_state.h"
#include "engine/initialisers.h"
#include "importers/tensorflow/flat_graph.h"
#include "tf/convert/division.h"
#include "tf/convert/model_state.h"
#include "tf/convert/parts.h"
#include "tf/convert/run.h"
#include "tf/convert/saved_model_file.h"
#include "tf/segment/native_report.h"

namespace lanner::tf {
namespace {

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

/// Says once what only TensorFlow can run.
void tell_foreign(const ModelState& state) {
  if (state.foreign.empty()) return;
  log_message(LogLevel::warning,
              fmt::format("the converted model runs inside TensorFlow alone (lanner.tf.register()), which "
                          "keeps these nodes: {}",
                          state.foreign));
}

/// A graph of the model's inputs alone: of nodes that nothing here can run there is none.
std::unique_ptr<Graph> inputs_graph(const ImportModel& flat, const ImportOptions& import) {
  check(!flat.graph.inputs.empty(), ErrorCode::invalid_argument,
        "calibration data: the model has no input; leave the data out");
  ImportModel inputs;
  inputs.dtype_of = flat.dtype_of;
  inputs.graph.name = flat.graph.name;
  inputs.graph.inputs = flat.graph.inputs;
  inputs.graph.outputs = {flat.graph.inputs.front()}; // a graph has one
  ImportOptions options = import;
  options.outputs.clear();
  return tensorflow::graph_of(inputs, options);
}

using Library = std::shared_ptr<const tensorflow::SourceLibrary>;

std::shared_ptr<ModelState> made_state(ImportModel flat, Library library, const ConvertOptions& options,
                                       const ImportOptions& import, bool saved,
                                       const std::filesystem::path& plans) {
  auto state = std::make_shared<ModelState>();
  state->options = options;
  state->folder = import.folder;
  state->group->limit = options.memory_limit.value_or(UINT64_MAX);
  state->group->account = current_account();
  apply_shapes(flat, options.build.shapes);
  state->division =
      std::make_shared<const Division>(saved ? divide_as_saved(std::move(flat), import, std::move(library))
                                             : divide(std::move(flat), options, import, std::move(library)));
  state->foreign = foreign_nodes(*state->division);
  tell_foreign(*state);
  Calibration& calibration = state->options.build.calibration;
  calibration.ranges_only = true; // Saved models hold tables, from which engines for other shapes are made.
  if (wants_int8(options.build) && !calibration.data_file.empty()) {
    const auto graph = inputs_graph(state->division->flat, import);
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
        auto library = std::make_shared<tensorflow::SourceLibrary>();
        ImportModel flat = tensorflow::read_flat_graph(
            model, import, saved ? tensorflow::EngineNodes::kept : tensorflow::EngineNodes::inlined,
            library.get());
        return made_state(std::move(flat), std::move(library), options, import, saved, saved ? folder : "");
      });
}

/// `engines: 2 of at most 16, 3 built, 5 hits, 1 evicted; 4 runs natively: outside_profiles`.
std::string counters_text(const EngineCounters& counters) {
  std::string text =
      fmt::format("  engines: {} of at most {}, {} built, {} hits, {} evicted", counters.cached.size(),
                  counters.maximum, counters.built, counters.hits, counters.evicted);
  for (const auto& [cause, runs] : counters.native)
    text += fmt::format("; {} runs natively: {}", runs, to_string(cause));
  text += "\n";
  if (!counters.build_error.empty())
    text += fmt::format("  build failed: {}\n", one_line(counters.build_error, 500));
  return text;
}

/// A model that runs here: nothing of it is TensorFlow's alone.
void require_runnable(const ModelState& state, const char* what) {
  check(state.foreign.empty(), ErrorCode::unsupported,
        "{}: this model runs inside TensorFlow alone; save it and load it there after lanner.tf.register(). "
        "Nodes "
        "that nothing here can run: {}",
        what, state.foreign);
}

/// Native nodes by operator and reason, as the segmenter's report groups them.
std::vector<NativeGroup> groups_of(const Model& model) {
  SegmenterGraph graph;
  Segmentation segmentation;
  for (const ConvertedNode& node : model.nodes()) {
    if (node.code == "constant") continue; // TF-TRT left them out
    SegmenterNode& made = graph.nodes.emplace_back();
    made.name = node.name;
    made.op = node.op;
    if (node.engine.empty())
      segmentation.native.push_back(
          {static_cast<std::uint32_t>(graph.nodes.size() - 1), {node.code, node.reason}});
  }
  return native_groups(graph, segmentation);
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

std::string Model::needs_tensorflow() const {
  return state_->foreign;
}
std::string Model::native_line() const {
  return tf::native_line(groups_of(*this));
}
std::string Model::native_csv() const {
  return tf::native_csv(groups_of(*this));
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
  for (const Part& each : state_->parts) {
    const ConvertedPart& part = each.facts;
    text += fmt::format("{}: {} nodes, {}, built in {:.2f} s\n", part.name, part.nodes,
                        part.engine ? "an engine" : "native", part.build_seconds);
    for (const Binding& input : part.inputs) text += "  in   " + input.to_string() + "\n";
    for (const Binding& output : part.outputs) text += "  out  " + output.to_string() + "\n";
    if (each.cache) text += counters_text(each.cache->counters());
  }
  std::map<std::pair<std::string, std::string>, std::size_t> natives;
  for (const ConvertedNode& node : nodes())
    if (node.engine.empty() && is_counted(node)) ++natives[{node.op, node.reason}];
  for (const auto& [key, number] : natives)
    text += fmt::format("native: {} {}: {}\n", number, key.first, one_line(key.second, 200));
  if (!state_->foreign.empty())
    text += "the model runs inside TensorFlow alone, as nothing here can run all native nodes\n";
  return text;
}

void Model::build(std::span<const Items> inputs, const Control& control) const {
  require_runnable(*state_, "build");
  ModelRun(*state_, 0).build(inputs, control);
}

void Model::build(const Items& inputs, const Control& control) const {
  build(std::span(&inputs, 1), control);
}

std::vector<EngineCounters> Model::counters() const {
  std::vector<EngineCounters> all;
  for (const Part& part : state_->parts)
    if (part.cache) all.push_back(part.cache->counters());
  return all;
}

struct Runner::State {
  std::shared_ptr<const ModelState> model; ///< Before `run`, which refers to it.
  ModelRun run;
};

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Runner Model::create_runner(int threads) const {
  require_runnable(*state_, "run");
  return Runner(std::make_unique<Runner::State>(Runner::State{state_, ModelRun(*state_, threads)}));
}

Items Runner::operator()(const Items& inputs, const Control& control) {
  return state_->run(inputs, control);
}

} // namespace lanner::tf
