// Engine: the public interface.

#include <lanner/engine.h>

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/model_folder.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "device/threads.h"
#include "engine/builder.h"
#include "engine/context/given_shapes.h"
#include "engine/context/input_names.h"
#include "engine/context/pictures.h"
#include "engine/explain.h"
#include "engine/plan_file/plan_file.h"
#include "engine/source_weights.h"
#include "engine/state.h"
#include "graph/text/text.h"

namespace lanner {
namespace {

/// Opens the file of an engine; errors name the environment's limits.
SourcePtr opened(const std::filesystem::path& path, const Limits& limits, const Environment& environment) {
  const EnvironmentState& state = environment.state();
  const auto account = std::make_shared<Account>(state.within(limits), state.thread_settings);
  const AccountScope charged(account);
  return open_path(path, account->limits());
}

/// By input.
GivenShapes shapes_given(const EngineState& state, const std::map<std::string, Shape>& shapes,
                         const char* asked_by) {
  GivenShapes given(state.inputs.size());
  for (const auto& [name, shape] : shapes) {
    const std::size_t i = with_context([&] { return asked_by; },
                                       [&, &name = name] { return input_number(*state.graph, name); });
    check(!state.inputs[i].sequence, ErrorCode::invalid_argument,
          "input {}: a shape was given for a sequence", name);
    given[i] = shape_of_records(*state.graph->body().parameter(i), shape);
  }
  return given;
}

/// The key of a variant that a caller wants prepared.
VariantKey key_of(const EngineState& state, const Variant& variant) {
  const GivenShapes given = shapes_given(state, variant.shapes, "prepare");
  check_threads(variant.threads);
  auto shapes = completed_shapes(*state.graph, given, state.opt);
  check(shapes.has_value(), ErrorCode::invalid_argument,
        "prepare: the shapes given leave sizes open; the engine takes {}: give a shape of each",
        open_inputs_text(*state.graph));
  return {*std::move(shapes), variant.threads > 0 ? variant.threads : state.target.threads};
}

} // namespace

void describe(EngineState& state) {
  state.inputs = input_bindings(*state.graph);
  state.outputs = output_bindings(*state.graph);
  state.opt = opt_shapes(*state.graph);
  state.pictures = pictures_of(*state.graph);
  for (std::size_t i = 0; i < state.pictures.size(); ++i) {
    if (!state.pictures[i]) continue;
    Binding& input = state.inputs[i];
    const auto& format = state.pictures[i]->format;
    input.image = format ? to_string(*format) : "any";
    state.preprocess[input.name] = state.pictures[i]->preprocess;
  }
  for (const auto& [key, value] : state.graph->metadata)
    if (key.starts_with(preprocess_key))
      state.preprocess[key.substr(std::string_view(preprocess_key).size())] = Preprocess::from_json(value);
}

const EngineState& state_of(const Engine& engine) {
  return *engine.state_;
}

Engine engine_of(std::shared_ptr<const EngineState> state) {
  return Engine(std::move(state));
}

Engine Engine::build(SourcePtr model, const BuildOptions& options, const std::filesystem::path& folder) {
  return with_context([&] { return fmt::format("build {}", model->name()); },
                      [&] {
                        return Engine(
                            builder_for("a build", "build the plan with liblanner, and load it here")
                                .build(model, options, folder));
                      });
}

Engine Engine::build(const std::filesystem::path& model, const BuildOptions& options) {
  const SourcePtr source = with_context([&] { return fmt::format("build {}", model.string()); },
                                        [&] { return opened(model, options.limits, options.environment); });
  return build(source, options, model_folder(model));
}

CalibrationTable calibrate(SourcePtr model, const BuildOptions& options,
                           const std::filesystem::path& folder) {
  return with_context([&] { return fmt::format("calibrate {}", model->name()); },
                      [&] {
                        return builder_for("a calibration",
                                           "calibrate with liblanner, and use the table here")
                            .calibrate(model, options, folder);
                      });
}

namespace {

/// Random inputs may be invalid for the model.
Verification verified(const EngineBuilder& builder, const Engine& engine, const VerifyOptions& options) {
  try {
    return builder.verify(engine, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    throw Error(error.code(),
                fmt::format("verify: {}; or load it without verify, and call Engine::verify with inputs",
                            error.message()));
  }
}

/// Verifies each variant of the plan in one run of one context.
void require_right(const Engine& engine, const Control& control) {
  const EngineBuilder& builder = builder_for("verifying a plan", "load it without verify");
  const EngineState& state = state_of(engine);
  for (const auto& [key, made] : state.variants().list()) {
    VerifyOptions options;
    options.shapes = state.caller_shapes(key.shapes);
    options.threads = key.threads;
    options.runs = options.contexts = 1;
    options.control.cancel = control.cancel;
    const Verification found = verified(builder, engine, options);
    if (found.right()) continue;
    const std::string nodes =
        found.differences.empty()
            ? found.network
            : fmt::format("node {}: {}", found.differences.front().name, found.differences.front().reason);
    fail(ErrorCode::bad_data, "the plan does not compute what its portable IR says, at {}: {}",
         state.shapes_text(key.shapes), nodes);
  }
}

} // namespace

Engine Engine::load(SourcePtr plan, const LoadOptions& options) {
  return with_context([&] { return fmt::format("load {}", plan->name()); },
                      [&] {
                        Engine engine(load_plan(plan, options));
                        if (options.verify) require_right(engine, options.control);
                        return engine;
                      });
}

Engine Engine::load(const std::filesystem::path& plan, const LoadOptions& options) {
  const SourcePtr source = with_context([&] { return fmt::format("load {}", plan.string()); },
                                        [&] { return opened(plan, options.limits, options.environment); });
  return load(source, options);
}

void Engine::save(const std::filesystem::path& path, const SaveOptions& options) const {
  with_context([&] { return fmt::format("save {}", path.string()); },
               [&] { save_plan(*state_, path, options); });
}

std::vector<SourceWeight> Engine::weights() const {
  const std::set<std::string> fixed = fixed_weights(*state_);
  std::vector<SourceWeight> weights;
  for (const auto& [name, type] : source_weights(*state_))
    if (!fixed.contains(name)) weights.push_back({name, type.dtype(), type.shape()});
  return weights;
}

Engine Engine::refit(const std::map<std::string, Tensor>& weights) const {
  return with_context([&] { return fmt::format("refit {}", name()); },
                      [&] { return Engine(lanner::refit(*state_, weights)); });
}

std::uint64_t Engine::streamable_weights() const {
  return state_->constants().devices()->bytes().streamable;
}

std::uint64_t Engine::min_weight_budget() const {
  return state_->constants().devices()->bytes().least;
}

std::optional<std::uint64_t> Engine::weight_budget() const {
  return state_->constants().devices()->budget();
}

void Engine::set_weight_budget(std::optional<std::uint64_t> bytes) const {
  with_context([&] { return name(); }, [&] { state_->set_weight_budget(bytes); });
}

const std::string& Engine::name() const {
  return state_->graph->name;
}
const std::vector<Binding>& Engine::inputs() const {
  return state_->inputs;
}
const std::vector<Binding>& Engine::outputs() const {
  return state_->outputs;
}
const std::vector<Binding>& Engine::overridable() const {
  return state_->initialisers.overridable;
}
int Engine::threads() const {
  return state_->target.threads;
}
Device Engine::device() const {
  return state_->target.device;
}
const std::map<std::string, std::string>& Engine::metadata() const {
  return state_->graph->metadata;
}

std::optional<Preprocess> Engine::preprocess(std::string_view input) const {
  const auto found = state_->preprocess.find(input);
  return found == state_->preprocess.end() ? std::nullopt : std::optional(found->second);
}

void Engine::prepare(const std::map<std::string, Shape>& shapes, int threads) const {
  prepare(std::vector<Variant>{{shapes, threads}});
}

void Engine::prepare(const std::vector<Variant>& variants, const Control& control) const {
  const AccountScope charged(state_->account);
  const DeadlineScope deadline(state_->limits, control.cancel);
  std::vector<VariantKey> keys;
  for (const Variant& variant : variants) keys.push_back(key_of(*state_, variant));
  state_->make_ahead(keys, control);
}

bool Engine::open_sizes() const {
  return !state_->opt;
}

std::map<std::string, Shape> Engine::sample_shapes(const std::map<std::string, Shape>& given,
                                                   std::int64_t batch) const {
  const AccountScope charged(state_->account);
  const DeadlineScope deadline(state_->limits);
  check(batch >= 0, ErrorCode::invalid_argument, "batch is {}: expected a number of items, or 0", batch);
  return state_->caller_shapes(state_->sample(shapes_given(*state_, given, "shapes"), batch));
}

Verification Engine::verify(const VerifyOptions& options) const {
  return with_context(
      [&] { return fmt::format("verify {}", name()); },
      [&] { return builder_for("verification", "verify the plan with liblanner").verify(*this, options); });
}

std::string Engine::ir() const {
  return print(state_->portable());
}

std::string Engine::graph_json() const {
  return lanner::graph_json(state_->portable());
}

std::string Engine::lowered_ir() const {
  return print(state_->shown().variant->program->graph());
}

std::string Engine::explain_json() const {
  const EngineState::Shown shown = state_->shown();
  return lanner::explain_json(*state_, shown.shapes, *shown.variant);
}

} // namespace lanner
