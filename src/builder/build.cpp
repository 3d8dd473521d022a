#include "builder/build.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "backends/backends.h"
#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/heap.h"
#include "builder/early_precision.h"
#include "builder/input_preprocess.h"
#include "builder/int8/int8.h"
#include "builder/open_dims.h"
#include "builder/precision/half_guard.h"
#include "builder/precision/plan_choice.h"
#include "builder/row_pitch.h"
#include "device/threads.h"
#include "engine/caller_options.h"
#include "engine/context/given_shapes.h"
#include "engine/context/input_names.h"
#include "engine/context/pictures.h"
#include "engine/initialisers.h"
#include "engine/overriding.h"
#include "engine/plan_file/plan_file.h"
#include "engine/profiles.h"
#include "engine/source_weights.h"
#include "graph/infer.h"
#include "importers/importer.h"
#include "ops/table/table.h"
#include "passes/int8/int8_nodes.h"
#include "passes/int8/widen_halves.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "program/lowered/precision.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

Target target_for(const BuildOptions& options) {
  check_threads(options.threads);
  check(std::isfinite(options.budget) && options.budget >= 0, ErrorCode::invalid_argument,
        "budget is {}: expected seconds, 0 to choose kernels by heuristics", options.budget);
  Target target;
  target.device = options.device;
  target.threads = options.threads > 0 ? options.threads : options.environment.state().team();
  check_precision(options.precision);
  target.precision = options.precision;
  target.deterministic = options.deterministic;
  check_placement(options.device, options.placement);
  target.placement = options.placement;
  check_backends(options.device, options.environment.state().backends);
  target.isa = isa_of(options.device);
  for (const Device device : options.placement.devices) target.further.push_back({isa_of(device), {}});
  target.host_isa = isa_of({});
  set_limits(target, options.environment.state());
  return target;
}

/// The range given for a named size of the model, and the option that gave it.
struct AskedSize {
  SymbolInfo range;
  std::string where;
};
using AskedSizes = std::map<std::string, AskedSize>;

std::string range_text(const SymbolInfo& range) {
  return range.min == range.max ? std::to_string(range.min)
                                : fmt::format("{} to {}, opt {}", range.min, range.max, range.opt);
}

/// Sizes with the same name must be equal everywhere in the model.
void ask_size(AskedSizes& asked, const std::string& name, AskedSize size) {
  const auto [entry, fresh] = asked.emplace(name, size);
  const auto& [known, where] = entry->second;
  check(fresh || known == size.range, ErrorCode::invalid_argument,
        "shape: {} is {} at {} and {} at {}; expected one size, as the model has one name for both", name,
        range_text(size.range), size.where, range_text(known), where);
}

/// Narrows the type of one input to the caller's range.
void apply_range(Graph& graph, Value& input, const ShapeRange& range, AskedSizes& asked) {
  check_range(input, range);
  const std::size_t rank = range.opt.rank();
  if (!input.type.ranked()) {
    Dims dims;
    for (std::size_t d = 0; d < rank; ++d) dims.push_back(graph.fresh_symbol(input.name(), range.max[d]));
    input.type = Type(input.type.dtype(), dims);
  }
  const Dims dims = input.type.dims();
  for (std::size_t d = 0; d < rank; ++d) {
    if (const auto size = dims[d].constant()) {
      check(*size == range.min[d] && *size == range.max[d], ErrorCode::invalid_argument,
            "input {}: dim {} is {} in the model, got {}", input.name(), d, *size, range.opt[d]);
      continue;
    }
    const auto name = dims[d].as_symbol();
    if (!name) continue; // checked when shapes are bound
    ask_size(asked, *name,
             {{range.min[d], range.max[d], range.opt[d]}, fmt::format("dim {} of {}", d, input.name())});
  }
}

/// The input that an option is for.
Value& input_called(const Graph& graph, const std::string& name, const char* option) {
  return with_context([&] { return option; },
                      [&]() -> Value& { return *graph.body().parameter(input_number(graph, name)); });
}

std::unique_ptr<Graph> with_shapes(std::unique_ptr<Graph> graph,
                                   const std::map<std::string, ShapeRange>& shapes) {
  AskedSizes asked;
  for (const auto& [name, range] : shapes)
    apply_range(*graph, input_called(*graph, name, "shape"), range, asked);
  Bindings fixed;
  for (const auto& [name, size] : asked) {
    if (size.range.min == size.range.max)
      fixed.emplace(name, size.range.min);
    else
      graph->symbols[name] = size.range;
  }
  fixed.merge(sizes_from_weights(*graph));
  if (fixed.empty()) return graph;
  std::unique_ptr<Graph> narrowed = graph->clone(fixed);
  infer_types(*narrowed);
  return narrowed;
}

PassOptions pass_options(const BuildOptions& options) {
  PassOptions passes;
  passes.stop_after = options.stop_after;
  passes.limits = options.limits;
  passes.control = options.control;
  if (!options.trace_passes.empty()) {
    std::filesystem::create_directories(options.trace_passes);
    passes.trace_folder = options.trace_passes;
  }
  return passes;
}

/// A model's initialisers, collected while it is read.
struct SeenInitialisers {
  Initialisers all;
  std::map<std::string, Tensor> values; ///< Values of those that become inputs.
};

ImportOptions import_options(const BuildOptions& options, const OpTable& ops,
                             const std::filesystem::path& folder, SeenInitialisers& seen) {
  ImportOptions result{ops,
                       folder,
                       options.limits,
                       options.weights,
                       options.on_data_file,
                       options.outputs,
                       {options.overridden.begin(), options.overridden.end()},
                       options.tensorflow};
  result.on_initialiser = [&seen, overridden = result.overridden](const std::string& name,
                                                                  const Tensor& value, const Type* input) {
    if (overridden.contains(name))
      seen.values.emplace(name, value);
    else if (input && input->is_tensor())
      seen.all.overridable.push_back(binding(name, *input));
    else
      seen.all.fixed.insert(name);
  };
  return result;
}

/// Inputs with default values are tuned for the sizes of these, unless others are given.
void expect_sizes(Graph& graph, const std::map<std::string, Tensor>& values) {
  for (const auto& [name, value] : values) {
    const Type& type = graph.body().parameter(input_number(graph, name))->type;
    if (!type.ranked() || type.rank() != value.rank()) continue;
    for (std::size_t d = 0; d < type.rank(); ++d) {
      const auto symbol = type.dims()[d].as_symbol();
      const auto known = symbol ? graph.symbols.find(*symbol) : graph.symbols.end();
      if (known != graph.symbols.end() && known->second.opt < 0) known->second.opt = value.shape()[d];
    }
  }
}

/// Sets up overriding of initialisers, unless the model cannot be read again.
void learn_initialisers(EngineState& state, SeenInitialisers seen, const SourcePtr& model,
                        const BuildOptions& options, const std::filesystem::path& folder) {
  state.initialisers = model->seekable() ? std::move(seen.all) : without_model(seen.all);
  if (!state.initialisers.overridable.empty())
    state.overriding = std::make_shared<const Overriding>(model, options, folder);
  set_defaults(state, std::move(seen.values));
}

/// File of the timing cache; empty: none.
std::filesystem::path timing_cache_path(const BuildOptions& build) {
  if (build.deterministic || !build.timing_cache.empty())
    return build.deterministic ? "" : build.timing_cache;
  return build.environment.state().timing_cache();
}

/// Makes the opt variants whose sizes are known. `seconds`: the time for tuning, which is reduced by the time
/// spent.
void make_opt_variants(EngineState& state, double& seconds, const Control& control) {
  const std::vector<VariantKey> known = state.opt_variants();
  const auto is_free = [](const HeldStorage& held) { return held.any; };
  check(!known.empty() || (std::ranges::none_of(state.callers.inputs, is_free) &&
                           std::ranges::none_of(state.callers.outputs, is_free)),
        ErrorCode::invalid_argument,
        "storage any: the layout is chosen for known sizes, but those of {} are open; give shapes or "
        "profiles, or name a layout",
        open_inputs_text(*state.graph, state.state_inputs()));
  const auto settle = [&](const MadeVariant& made) { settle_storages(state, made.program->graph()); };
  seconds = state.make_ahead(known, control, settle, seconds);
}

std::string pins_text(const Precision& precision) {
  const std::size_t pins = precision.pins.size();
  return pins == 0 ? "" : fmt::format(" with {} pin{}", pins, pins == 1 ? "" : "s");
}

/// Warns that options on types and placement can be checked only once sizes, and so kernels, are known.
void warn_of_late_answers(const EngineState& state, const std::string& model) {
  const Precision& precision = state.target.precision;
  const bool placed = state.target.placement.strict && !state.target.placement.nodes.empty(),
             typed = decides_late(state.target);
  if (!typed && !placed) return;
  const std::string types = typed ? fmt::format("precision {}{}{}", precision.types_text(),
                                                precision.strict ? " (strict)" : "", pins_text(precision))
                                  : "";
  log_message(
      LogLevel::warning,
      fmt::format("{}: sizes are open, so only the first run can check whether kernels comply with {}; "
                  "it {} where one does not; give shapes or profiles to check that in the build",
                  model,
                  fmt::format("{}{}{}", types, typed && placed ? ", " : "", placed ? "strict placement" : ""),
                  precision.strict || placed ? "fails" : "warns"));
}

/// Warns about options without effect.
void warn_of_unused(const EngineState& state, const std::string& model) {
  if (!state.opt) {
    for (const std::string& line : early_precision(*state.graph, state.target))
      log_message(LogLevel::warning, fmt::format("{}: {}", model, line));
    warn_of_late_answers(state, model);
    return;
  }
  const auto made = state.variant(*state.opt, state.target.threads);
  for (const std::string& line : unused_precisions(made->program->graph(), state.target))
    log_message(LogLevel::warning, fmt::format("{}: {}", model, line));
  for (const std::string& line : unkept_placements(made->program->graph(), state.target))
    log_message(LogLevel::warning, fmt::format("{}: {}", model, line));
}

/// A model read and brought into its canonical form.
struct Canonical {
  std::unique_ptr<Graph> graph;
  SeenInitialisers seen;
  WeightValues sources;
};

Canonical canonical_form(const SourcePtr& model, const BuildOptions& options,
                         const std::filesystem::path& folder) {
  Canonical result;
  const OpTable& ops = options.environment.state().ops;
  options.control.report({"import", 0, 0, ""});
  std::unique_ptr<Graph> graph = import_model(model, import_options(options, ops, folder, result.seen));
  apply_row_pitches(*graph, options.storages);
  graph = with_pictures(with_shapes(std::move(graph), options.shapes), options.images);
  apply_ranks(*graph, options.profiles);
  expect_sizes(*graph, result.seen.values);
  const std::map<std::string, Preprocess> preprocess = settle_preprocess(*graph, options, folder);
  std::map<std::string, Preprocess> pictures = preprocess;
  for (const auto& [input, picture] : options.images) pictures.emplace(input, picture.preprocess);
  expect_pictures(*graph, pictures);
  result.sources = weights_of(*graph, max_kept_source);
  // INT8 is measured against FP32, and so starts from it.
  if (options.precision.types.contains(DType::i8) && options.stop_after.empty() &&
      !passes::is_quantized(*graph) && passes::widen_halves(*graph))
    log_message(LogLevel::info,
                fmt::format("{}: FP16 and BF16 values are FP32, from which INT8 starts", graph->name));
  if (options.stop_after != "import") run_passes(*graph, pass_options(options));
  if (const auto narrow = narrowest_half(options.precision); narrow && options.stop_after.empty())
    passes::bound_masks(*graph, *narrow);
  give_back_freed_memory();
  for (const auto& [input, spec] : preprocess) graph->metadata[preprocess_key + input] = spec.to_json();
  for (const auto& [key, value] : options.metadata) {
    check(!key.empty(), ErrorCode::invalid_argument, "metadata: an empty key; expected one like lanner.task");
    check(key != "lanner.preprocess" && !key.starts_with(preprocess_key), ErrorCode::invalid_argument,
          "metadata '{}': give preprocessing by its own option", key);
    graph->metadata[key] = value;
  }
  check_pins(*graph, options.precision);
  check_placed(*graph, options.placement);
  result.graph = std::move(graph);
  return result;
}

/// What the states of one build share.
struct Making {
  const SourcePtr& model;
  const BuildOptions& given;   ///< As the caller gave them.
  const BuildOptions& options; ///< With the environment's limits.
  const std::filesystem::path& folder;
  const AccountPtr& account;
};

/// The state of an engine of this graph, with the variants that the build makes ahead. `seconds`: the time
/// for tuning them, which is reduced by the time spent.
std::shared_ptr<EngineState> assembled(const Making& making, const Canonical& canonical,
                                       std::unique_ptr<Graph> graph, const Target& target, double& seconds) {
  const BuildOptions& options = making.options;
  auto state = std::make_shared<EngineState>(options.limits, making.account, options.environment);
  state->target = target;
  state->set_weight_budget(options.weight_budget);
  Graph& portable = *graph;
  state->graph = std::move(graph);
  learn_weights(*state, portable, canonical.sources);
  state->budget = options.budget;
  state->timing_cache = timing_cache_path(options);
  state->retune = options.retune;
  state->tune_at_run = options.tune_at_run;
  check_tune_at_run(*state);
  describe(*state);
  set_callers(*state, {options.states, options.aliases, options.overwritable, options.storages});
  learn_initialisers(*state, canonical.seen, making.model, making.given, making.folder);
  if (!options.stop_after.empty()) return state;
  state->opt = opt_shapes(*state->graph, state->state_inputs());
  state->expect(checked_profiles(*state->graph, options.profiles, state->opt));
  guard_halves(portable, state->opt, options, state->target);
  make_opt_variants(*state, seconds, options.control);
  return state;
}

/// Whether the build may find that FP32 is faster than what is allowed, and keep that: not for networks whose
/// weights would take much memory twice.
bool may_keep_fp32(const Target& target, const BuildOptions& options) {
  const Precision& precision = target.precision;
  return target.device.is_host() && !precision.strict && options.budget > 0 && !options.deterministic &&
         std::ranges::any_of(precision.types, [](DType type) { return type != DType::f32; });
}

/// A state, and its graph while that may be changed.
struct MadeState {
  std::shared_ptr<EngineState> state;
  Graph* graph;
};

/// Of the plan made and that of FP32, which is made now, the one that runs faster. `seconds`: what is left of
/// the budget.
std::shared_ptr<EngineState> faster(const Making& making, const Canonical& canonical,
                                    const MadeState& allowed, std::unique_ptr<Graph> graph, double seconds) {
  constexpr double most_seconds = 1.5, least_share = 0.1; // with nothing left it would lose untuned
  Target target = allowed.state->target;
  target.precision.types = {DType::f32};
  target.precision.pins.clear();
  MadeState fp32{nullptr, graph.get()};
  seconds = std::max(seconds, least_share * making.options.budget);
  fp32.state = assembled(making, canonical, std::move(graph), target, seconds);
  const auto times = timed_plans(allowed.state, fp32.state, std::min(making.options.budget, most_seconds),
                                 making.options.control);
  if (!times) return allowed.state;
  const std::string line = told(*times, allowed.state->target.precision.types_text());
  log_message(times->fp32_wins ? LogLevel::warning : LogLevel::info,
              fmt::format("{}: {}", making.model->name(), line));
  const MadeState& kept = times->fp32_wins ? fp32 : allowed;
  // Ranges and verdicts of what was tried.
  for (const auto& [key, value] : allowed.graph->metadata) kept.graph->metadata.emplace(key, value);
  record(*kept.graph, *times, line);
  return kept.state;
}

} // namespace

std::shared_ptr<EngineState> build_state(const SourcePtr& model, const BuildOptions& given,
                                         const std::filesystem::path& folder) {
  const EnvironmentState& environment = given.environment.state();
  BuildOptions options = given;
  options.limits = environment.within(given.limits);
  const auto account = std::make_shared<Account>(options.limits, environment.thread_settings);
  const AccountScope charged(account);
  const DeadlineScope deadline(options.limits, options.control.cancel);
  const Making making{model, given, options, folder, account};
  const Target target = target_for(options);
  Canonical canonical = canonical_form(model, options, folder);
  double seconds = options.budget;
  if (!options.stop_after.empty())
    return assembled(making, canonical, std::move(canonical.graph), target, seconds);
  std::unique_ptr<Graph> fp32 = may_keep_fp32(target, options) ? canonical.graph->clone() : nullptr;
  to_int8(*canonical.graph, options, target);
  Graph& allowed = *canonical.graph;
  std::shared_ptr<EngineState> state =
      assembled(making, canonical, std::move(canonical.graph), target, seconds);
  if (fp32 && is_worth_timing(*state))
    state = faster(making, canonical, {std::move(state), &allowed}, std::move(fp32), seconds);
  check_range_ends(*state->graph);
  check_profile_ends(*state->graph, state->profiles);
  warn_of_unused(*state, model->name());
  give_back_freed_memory();
  return state;
}

CalibrationTable calibrated(const SourcePtr& model, const BuildOptions& given,
                            const std::filesystem::path& folder) {
  const EnvironmentState& environment = given.environment.state();
  BuildOptions options = given;
  options.limits = environment.within(given.limits);
  options.precision.types.insert(DType::i8);
  const auto account = std::make_shared<Account>(options.limits, environment.thread_settings);
  const AccountScope charged(account);
  const DeadlineScope deadline(options.limits, options.control.cancel);
  return int8_ranges(*canonical_form(model, options, folder).graph, options, target_for(options));
}

} // namespace lanner
