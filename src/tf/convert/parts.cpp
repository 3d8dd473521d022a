#include "tf/convert/parts.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "calibration/tensorrt_cache.h"
#include "engine/state.h"
#include "importers/graph_source.h"
#include "importers/tensorflow/engine_nodes.h"
#include "importers/tensorflow/flat_graph.h"
#include "tf/convert/flat_index.h"
#include "tf/convert/run.h"
#include "tf/convert/saved_model_file.h"
#include "tf/convert/tensorflow_run.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {
namespace {

bool has_ranges(const Calibration& calibration) {
  return calibration.data || !calibration.data_file.empty() || !calibration.table_file.empty() ||
         !calibration.table.ranges.empty() || !calibration.ranges.empty();
}

/// What the node of a saved engine says; null: the part was not saved.
const ImportNode* saved_node(const Division& division, const PartPlan& plan) {
  if (!plan.engine) return nullptr;
  const ImportNode& node = division.flat.graph.nodes[plan.nodes.front()];
  return node.attributes.contains(tensorflow::engine_mark) ? &node : nullptr;
}

/// The precision that a saved engine's node says, where the caller gives none. Returns whether INT8 is by
/// the ranges in the graph alone.
bool take_saved_precision(const PartPlan& plan, const ImportNode& node, BuildOptions& build) {
  if (plan.precision.empty() || build.precision.types != Precision().types) return false;
  if (plan.precision == "FP16") build.precision.types.insert(DType::f16);
  if (plan.precision != "INT8") return false;
  const auto* calibrated = tensorflow::attribute_of<std::int64_t>(node, "use_calibration");
  const bool none = plan.calibration.empty() && !has_ranges(build.calibration);
  const bool by_graph = none && calibrated && *calibrated == 0;
  const bool own = !plan.calibration.empty() && !is_tensorrt_cache(plan.calibration);
  if (!own && !by_graph && !has_ranges(build.calibration)) {
    log_message(LogLevel::warning,
                fmt::format("{}: it was {}; it is in FP32 now: give precision int8 with calibration data",
                            plan.name,
                            none ? "to be calibrated in INT8, and was not"
                                 : "in INT8 by a calibration of TensorRT's, whose tensors have other names"));
    return false;
  }
  build.precision.types.insert(DType::i8);
  if (own && !has_ranges(build.calibration))
    build.calibration.table = CalibrationTable::parse(plan.calibration);
  return by_graph;
}

/// Whether the engine of a saved plan is what the caller asks for; with the default precision it is.
bool takes_plan(const BuildOptions& asked, const PartPlan& plan) {
  const Precision& precision = asked.precision;
  if (precision.strict || precision.exact || !precision.pins.empty()) return false;
  const bool is_int8 = plan.precision == "INT8";
  if (has_ranges(asked.calibration) && (is_int8 || wants_int8(asked))) return false;
  if (precision.types == Precision().types) return true;
  return !precision.types.contains(DType::bf16) && wants_int8(asked) == is_int8 &&
         (is_int8 || precision.types.contains(DType::f16) == (plan.precision == "FP16"));
}

/// Options of one part, in the model's own precision. Native nodes run by kernels chosen without timing.
BuildOptions native_options(const ConvertOptions& options) {
  BuildOptions build = options.build;
  build.shapes.clear();
  build.outputs.clear();
  build.precision = {};
  build.budget = 0;
  build.tune_at_run = false;
  build.calibration = {};
  return build;
}

Engine build_part(const std::shared_ptr<const Division>& division, const PartPlan& plan,
                  const BuildOptions& build) {
  const auto source = std::make_shared<GraphSource>(plan.name, [division, plan](const ImportOptions& import) {
    return tensorflow::graph_of(part_model(*division, plan, import.limits), import);
  });
  return Engine::build(source, build);
}

/// Makes the engines of a part. One thread at a time.
struct PartMaker {
  AccountPtr account;
  std::shared_ptr<const Division> division;
  PartPlan plan;
  BuildOptions build, native;
  bool int8_by_graph = false; ///< Without ranges in the graph the engine is in FP16, as TF-TRT had it.

  Engine operator()(bool natively, const Control& control) {
    const AccountScope charged(account); // for messages
    BuildOptions& chosen = natively ? native : build;
    chosen.control = control;
    const auto forget = [](BuildOptions* options) { options->control = {}; }; // the caller's, for this call
    const std::unique_ptr<BuildOptions, decltype(forget)> after(&chosen, forget);
    if (natively || !int8_by_graph) return built(chosen);
    try {
      return built(chosen);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      log_message(
          LogLevel::warning,
          fmt::format("{}: INT8 without calibration, but no node has ranges; it is in FP16", plan.name));
    }
    int8_by_graph = false;
    build.precision.types.erase(DType::i8);
    build.precision.types.insert(DType::f16);
    return built(build);
  }

private:
  /// A part without a product, of a model in INT8, is in the model's other types.
  Engine part_engine(BuildOptions& options) {
    try {
      return build_part(division, plan, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || !wants_int8(options)) throw;
      log_message(LogLevel::info, fmt::format("{}: not in INT8: {}", plan.name, error.message()));
    }
    options.precision.types.erase(DType::i8);
    if (options.precision.types.empty()) options.precision.types.insert(DType::f32);
    options.calibration = {};
    return build_part(division, plan, options);
  }

  /// Calibrates once: an engine that is made again uses the table.
  Engine built(BuildOptions& options) {
    Engine engine = part_engine(options);
    const auto table = engine.metadata().find("lanner.calibration");
    if (options.calibration.data && table != engine.metadata().end()) {
      options.calibration.data = {};
      options.calibration.table = CalibrationTable::parse(table->second);
    }
    return engine;
  }
};

/// What each part is given on the calibration data, which runs through the model in its own precision.
std::vector<std::vector<Items>> part_inputs(const std::shared_ptr<const Division>& division,
                                            const ConvertOptions& options) {
  const Control& control = options.build.control;
  std::vector<Context> contexts;
  for (const PartPlan& plan : division->parts)
    contexts.push_back(build_part(division, plan, native_options(options)).create_context());
  std::vector<std::vector<Items>> seen(contexts.size());
  const CalibrationData& data = options.build.calibration.data;
  bool restart = true;
  for (auto batch = data(restart); batch; batch = data(restart)) {
    restart = false;
    run_parts(*division, *batch, [&](std::size_t p, const Items& items) {
      if (division->parts[p].engine) seen[p].push_back(items);
      return contexts[p](items, control);
    });
    for (Context& context : contexts) context.unbind();
  }
  return seen;
}

/// Behind nodes that only TensorFlow runs, ranks may be unknown, and a product of such values is not stored
/// in INT8: the data tells them. Engines for other ranks cannot be built then, and these run natively.
void learn_ranks(ModelState& state, const std::vector<std::vector<Items>>& seen) {
  const auto division = std::make_shared<Division>(*state.division);
  bool learnt = false;
  for (std::size_t p = 0; p < seen.size(); ++p) {
    const std::vector<std::string>& inputs = division->parts[p].inputs;
    for (std::size_t i = 0; i < inputs.size() && !seen[p].empty(); ++i) {
      const auto rank = [&](const Items& batch) { return batch.at(input_binding(i)).tensor.rank(); };
      Type& type = division->trial.types.at(inputs[i]);
      const std::size_t first = rank(seen[p].front());
      if (type.ranked() || std::ranges::any_of(seen[p], [&](const Items& b) { return rank(b) != first; }))
        continue;
      Dims dims;
      for (std::size_t d = 0; d < first; ++d) dims.push_back(Dim::symbol(fmt::format("unknown__{}", d)));
      type = Type(type.dtype(), std::move(dims));
      learnt = true;
    }
  }
  if (!learnt) return;
  division->index = std::make_shared<FlatIndex>(division->flat.graph.nodes, division->trial.reasons);
  state.division = division;
}

CalibrationData replayed(std::vector<Items> batches) {
  return [batches = std::move(batches), next = std::size_t{0}](bool restart) mutable -> std::optional<Items> {
    if (restart) next = 0;
    if (next >= batches.size()) return std::nullopt;
    return batches[next++];
  };
}

/// Types of a part's inputs, with sizes that the saved node alone knows.
std::vector<Type> input_types(const Division& division, const PartPlan& plan, const ImportNode* node) {
  const auto* saved = node ? tensorflow::attribute_of<std::vector<Type>>(*node, "input_shapes") : nullptr;
  std::vector<Type> types;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    Type& type = types.emplace_back(type_of(division, plan.inputs[i]));
    if (!saved || i >= saved->size() || !(*saved)[i].ranked()) continue;
    Dims dims = type.ranked() ? type.dims() : (*saved)[i].dims();
    for (std::size_t d = 0; d < std::min(dims.size(), (*saved)[i].rank()); ++d)
      if (!dims[d].is_constant() && (*saved)[i].dims()[d].is_constant()) dims[d] = (*saved)[i].dims()[d];
    if (type.is_tensor()) type = Type(type.dtype(), std::move(dims));
  }
  return types;
}

/// The entries of a saved engine: the ranges in the node, else the shapes that the plan has kernels for.
std::vector<ServedShapes> saved_entries(const Engine& engine, const PartPlan& plan, const CacheRules& rules,
                                        const ImportNode* node) {
  const auto* text = node ? tensorflow::attribute_of<std::string>(*node, profiles_attribute) : nullptr;
  if (text)
    return with_context([&] { return plan.name; }, [&] { return parse_entries(*text, plan.inputs.size()); });
  std::vector<ServedShapes> entries;
  for (const auto& [key, made] : state_of(engine).variants().list())
    if (made->ahead) entries.push_back(served_by(rules, part_order(engine, key.shapes)));
  return entries;
}

/// Engines that the conversion or the load makes; others are made by Model::build and runs.
void make_engines(Part& part, const ModelState& state, const ImportNode* node,
                  const std::filesystem::path& plans, bool calibrated) {
  const ConvertOptions& options = state.options;
  const Control& control = options.build.control;
  const CacheRules& rules = part.cache->rules();
  const auto* inside = node ? tensorflow::attribute_of<std::string>(*node, "serialized_segment") : nullptr;
  if (takes_plan(options.build, part.plan))
    if (auto engine = loaded_engine(part.plan, inside, plans, options))
      return part.cache->adopt(*engine, saved_entries(*engine, part.plan, rules, node));
  if (rules.mode == EngineMode::fixed)
    return part.cache->build_static(
        static_shapes(input_types(*state.division, part.plan, node), rules.max_batch), control);
  if (rules.mode != EngineMode::dynamic || calibrated) part.cache->make_engine(control);
}

/// Bindings before the part's engine is made.
std::vector<Binding> part_bindings(const Division& division, const std::vector<std::string>& values,
                                   std::string (*name)(std::size_t)) {
  std::vector<Binding> bindings;
  for (std::size_t i = 0; i < values.size(); ++i)
    bindings.push_back(binding(name(i), type_of(division, values[i])));
  return bindings;
}

/// Of a part's inputs.
PartShapes shapes_of(const PartPlan& plan, const Items& inputs) {
  PartShapes shapes;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i)
    shapes.push_back(inputs.at(input_binding(i)).tensor.shape());
  return shapes;
}

/// The engine for the shapes that a part was calibrated with. Its plan says which nodes INT8 is too coarse
/// for, which a table of ranges does not, and Model::build cannot make it where TensorFlow runs the model.
void build_calibrated(const Part& part, const PartShapes& shapes, const Control& control) {
  const CacheRules& rules = part.cache->rules();
  if (rules.shapes == EngineShapes::profiles || !part.cache->engine() || refused(rules, shapes)) return;
  static_cast<void>(part.cache->take(shapes, 0, control, true));
}

Part engine_part(const ModelState& state, const PartPlan& plan, const std::filesystem::path& plans,
                 std::vector<Items> batches) {
  const ImportNode* node = saved_node(*state.division, plan);
  CacheRules rules = rules_of(state.options, node);
  PartMaker maker{state.group->account, state.division, plan, state.options.build,
                  native_options(state.options)};
  maker.build.shapes.clear();
  maker.build.outputs.clear();
  maker.build.calibration.data_file.clear();
  maker.build.control = maker.native.control = {}; // each call has its own
  const bool calibrated = !batches.empty();
  const PartShapes first = calibrated ? shapes_of(plan, batches.front()) : PartShapes();
  maker.build.calibration.data = calibrated ? replayed(std::move(batches)) : CalibrationData();
  if (node) maker.int8_by_graph = take_saved_precision(plan, *node, maker.build);
  Part part{plan, {}, {}, maker.build.precision, !maker.int8_by_graph, {}};
  const bool shared = maker.build.precision.types == Precision().types && !maker.build.tune_at_run;
  if (calibrated && rules.mode == EngineMode::fixed) {
    log_message(LogLevel::warning,
                fmt::format("{}: static mode does not support INT8 calibration; it is dynamic", plan.name));
    rules.mode = EngineMode::dynamic;
  }
  part.cache = std::make_shared<EngineCache>(plan.name, rules, state.group, std::move(maker), shared);
  const auto start = std::chrono::steady_clock::now();
  make_engines(part, state, node, plans, calibrated || wants_int8(state.options.build));
  if (calibrated && !state.foreign.empty()) build_calibrated(part, first, state.options.build.control);
  part.facts = {plan.name,
                true,
                plan.nodes.size(),
                part_bindings(*state.division, plan.inputs, input_binding),
                part_bindings(*state.division, plan.outputs, output_binding),
                0};
  if (const auto engine = part.cache->engine()) {
    part.facts.inputs = engine->inputs();
    part.facts.outputs = engine->outputs();
  }
  part.facts.build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return part;
}

Part native_part(const ModelState& state, const PartPlan& plan) {
  if (!state.foreign.empty()) { // TensorFlow runs it
    Part part{plan, {}, {}, {}, true, {}};
    const auto typed = [&](std::vector<std::string> values) {
      std::erase_if(values, [&](const auto& v) { return !state.division->trial.types.contains(v); });
      return values;
    };
    part.facts = {plan.name,
                  false,
                  plan.nodes.size(),
                  part_bindings(*state.division, typed(plan.inputs), input_binding),
                  part_bindings(*state.division, typed(plan.outputs), output_binding),
                  0};
    return part;
  }
  const auto start = std::chrono::steady_clock::now();
  Part part{plan, build_part(state.division, plan, native_options(state.options)), {}, {}, true, {}};
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  part.facts = {plan.name, false, plan.nodes.size(), part.engine->inputs(), part.engine->outputs(), seconds};
  return part;
}

} // namespace

bool wants_int8(const BuildOptions& build) {
  return build.precision.types.contains(DType::i8);
}

void build_parts(ModelState& state, const std::filesystem::path& plans) {
  const ConvertOptions& options = state.options;
  std::vector<std::vector<Items>> seen(state.division->parts.size());
  if (wants_int8(options.build) && options.build.calibration.data) {
    seen = state.foreign.empty() ? part_inputs(state.division, options) : inputs_in_tensorflow(state);
    if (!state.foreign.empty()) learn_ranks(state, seen);
  }
  const std::vector<PartPlan>& plan = state.division->parts;
  for (std::size_t p = 0; p < plan.size(); ++p)
    state.parts.push_back(plan[p].engine ? engine_part(state, plan[p], plans, std::move(seen[p]))
                                         : native_part(state, plan[p]));
  for (const Part& part : state.parts) state.facts.push_back(part.facts);
  state.options.build.control = {};
  state.options.run_in_tensorflow = {};
}

} // namespace lanner::tf
