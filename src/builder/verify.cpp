// Implements Engine::verify.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "builder/network_check.h"
#include "builder/network_inputs.h"
#include "builder/portable_answers.h"
#include "builder/reproducer.h"
#include "builder/verification.h"
#include "device/threads.h"
#include "engine/context/input_names.h"
#include "engine/context/pictures.h"
#include "engine/state.h"

namespace lanner {
namespace {

constexpr int max_runs = 1'000'000, max_contexts = 256;

/// Given shapes, and shapes of given values; for the rest the opt ones, or ones that fit.
InputShapes shapes_for(const EngineState& state, const VerifyOptions& options) {
  GivenShapes shapes(state.inputs.size());
  for (const auto& [name, shape] : options.shapes) {
    const std::size_t i = input_number(*state.graph, name);
    check(!state.inputs[i].sequence, ErrorCode::invalid_argument,
          "input {}: a shape was given for a sequence", name);
    shapes[i] = shape_of_records(*state.graph->body().parameter(i), shape);
  }
  const Initialisers constants = without_model(state.initialisers);
  for (const auto& [name, item] : options.inputs) {
    constants.refuse(name); // a constant of the verified nodes cannot be given
    const std::size_t i = input_number(*state.graph, name);
    if (!item.tensor.defined()) continue;
    const auto asked = options.shapes.find(name);
    check(asked == options.shapes.end() || asked->second == item.tensor.shape(), ErrorCode::invalid_argument,
          "input {}: the value given is {}, the shape asked for {}", name, item.tensor.shape().to_string(),
          asked == options.shapes.end() ? "" : asked->second.to_string());
    shapes[i] = item.tensor.shape();
  }
  return state.sample(std::move(shapes));
}

void check_options(const VerifyOptions& options) {
  check_threads(options.threads);
  check(options.runs >= 1 && options.runs <= max_runs, ErrorCode::invalid_argument,
        "runs is {}: expected 1 to {}", options.runs, max_runs);
  check(options.contexts >= 1 && options.contexts <= max_contexts, ErrorCode::invalid_argument,
        "contexts is {}: expected 1 to {}", options.contexts, max_contexts);
}

/// Inputs with default values use these, unless another shape is given.
VerifyOptions with_defaults(const EngineState& state, VerifyOptions options) {
  for (std::size_t i = 0; i < state.defaults.size(); ++i) {
    const auto& name = state.inputs[i].name;
    if (state.defaults[i].defined() && !options.shapes.contains(name))
      options.inputs.emplace(name, state.defaults[i]);
  }
  return options;
}

/// One verification: the variant, its inputs, and the result.
class NetworkVerifier {
public:
  NetworkVerifier(const Engine& engine, const VerifyOptions& options)
      : engine_(engine), state_(state_of(engine)), options_(options),
        threads_(options.threads > 0 ? options.threads : state_.target.threads),
        shapes_(shapes_for(state_, options)),
        made_(state_.variant(shapes_, threads_, options.control, false)) {}

  Verification run() {
    NodeFindings found = verified_nodes();
    Verification result{.shapes = state_.caller_shapes(shapes_),
                        .nodes = found.nodes,
                        .defined = found.defined,
                        .skipped = found.skipped,
                        .differences = std::move(found.differences),
                        .network = std::move(lowered_failure_),
                        .undecided = {},
                        .reproducer = {}};
    if (found.first && !options_.reproducer.empty()) write(*found.first, result);
    if (!result.network.empty()) return result;
    options_.control.report({"verify", 0, 0, "runs"});
    result.network = network_difference(
        engine_, inputs_, *answers_,
        {static_cast<std::size_t>(options_.runs), static_cast<std::size_t>(options_.contexts), threads_},
        options_.control);
    for (std::size_t o = 0; o < answers_->size(); ++o)
      if (answers_->undecided(o)) result.undecided.push_back(state_.outputs[o].name);
    return result;
  }

private:
  /// Integers that a definition rejects, for example as indices, are drawn again as zeros.
  NodeFindings verified_nodes() {
    const Graph& graph = made_->program->graph();
    try {
      return nodes_on({options_.seed, DrawnIntegers::low, state_.target.device});
    } catch (const DefinitionFailed& error) {
      if (!draws_index_inputs(graph, options_.inputs)) throw with_remedy(error);
    }
    try {
      return nodes_on({options_.seed, DrawnIntegers::zero, state_.target.device});
    } catch (const DefinitionFailed& error) {
      throw with_remedy(error);
    }
  }

  /// Random inputs may be invalid for the model.
  Error with_remedy(const DefinitionFailed& error) const {
    const bool all = options_.inputs.size() == inputs_.size();
    return Error(error.code(), fmt::format("{}; give {} that the model takes", error.message(),
                                           all ? "inputs" : "shapes and inputs"));
  }

  NodeFindings nodes_on(const InputDraw& draw) {
    inputs_ = network_inputs(made_->program->graph(), options_.inputs, draw);
    NodeFindings found;
    std::optional<DefinitionFailed> failed;
    try {
      found =
          verify_nodes({state_, *made_}, inputs_,
                       {static_cast<std::size_t>(options_.runs), static_cast<std::size_t>(options_.contexts)},
                       options_.control);
    } catch (const DefinitionFailed& error) {
      failed = error;
    }
    answer(failed);
    if (failed)
      lowered_failure_ = fmt::format("it fails where the portable IR does not: {}", failed->message());
    return found;
  }

  /// Results of the portable graph. Its failure is the inputs' fault, reported with the lowered graph's
  /// message if both fail.
  void answer(const std::optional<DefinitionFailed>& failed) {
    try {
      answers_.emplace(graph_at(state_.portable(), given_shapes(state_.portable(), shapes_)), inputs_,
                       made_->program->target(), options_.control);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      throw failed ? *failed : DefinitionFailed(error.code(), error.message());
    }
  }

  /// If ONNX cannot express the node, the difference's reason says so.
  void write(const DifferingNode& first, Verification& result) const {
    std::string& reason = result.differences.front().reason;
    try {
      write_reproducer(first, reason, options_.reproducer);
      result.reproducer = options_.reproducer;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      reason += "; no model of it alone: " + error.message();
    }
  }

  const Engine& engine_;
  const EngineState& state_;
  const VerifyOptions& options_;
  int threads_;
  InputShapes shapes_;
  std::shared_ptr<const MadeVariant> made_;
  std::vector<Item> inputs_;
  std::optional<PortableAnswers> answers_;
  std::string lowered_failure_;
};

} // namespace

Verification verify_engine(const Engine& engine, const VerifyOptions& given) {
  check_options(given);
  const EngineState& state = state_of(engine);
  const VerifyOptions options = with_defaults(state, given);
  // Memory for testing single nodes; the contexts have their own accounts.
  const auto account = std::make_shared<Account>(state.limits, state.account);
  const AccountScope charged(account);
  return NetworkVerifier(engine, options).run();
}

} // namespace lanner
