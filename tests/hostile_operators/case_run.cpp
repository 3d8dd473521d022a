#include "hostile_operators/case_run.h"

#include <array>
#include <new>

#include <fmt/format.h>

#include <lanner/engine.h>
#include <lanner/error.h>

#include "backends/backends.h"
#include "base/limits/account.h"
#include "engine/caller_options.h"
#include "engine/context/given_shapes.h"
#include "engine/plan_file/plan_file.h"
#include "engine/state.h"
#include "graph/infer.h"
#include "graph/text/text.h"
#include "hostile_operators/filling.h"
#include "lower/check/trial.h"
#include "lower/check/trial_data.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"
#include "tactics/networks.h"
#include "tactics/settings.h"

namespace lanner::hostile {
namespace {

constexpr std::array precisions{"fp32", "fp32", "fp16", "bf16"};
constexpr int trial_runs = 1;

/// The stage of a case, for refusals.
class CaseRun {
public:
  CaseRun(const Seed& seed, std::size_t number, bool usual) : seed_(seed), number_(number), usual_(usual) {
    sweep::Settings settings;
    settings.threads = 1 + static_cast<int>(number % 2);
    precision_ = precisions[number / 2 % precisions.size()];
    target_ = sweep::target_of(settings, precision_);
  }

  void run(Outcome& outcome) {
    const auto account = std::make_shared<Account>(case_limits());
    const AccountScope charged(account);
    const DeadlineScope deadline(case_limits());
    outcome.end = End::refused_reading;
    auto graph = parse_graph(graph_text(seed_), builtin_op_table(), {}, case_limits());
    infer_types(*graph);
    outcome.end = End::refused_building;
    PassOptions passes;
    passes.limits = case_limits();
    passes.verify = true;
    run_passes(*graph, passes);
    auto state = std::make_shared<EngineState>(case_limits(), account);
    state->target = target_;
    state->graph = graph->clone();
    describe(*state);
    set_callers(*state, {});
    state->opt = opt_shapes(*state->graph, {});
    state->expect({});
    state->make_ahead(state->opt_variants(), {}, {});
    const bool known = state->opt.has_value();
    outcome.end = End::refused_running;
    const bool ran = run_engine(engine_of(std::move(state)));
    if (known) try_tactics(std::move(graph), outcome);
    if (outcome.end == End::refused_running) outcome.end = ran ? End::ran : End::not_run;
  }

private:
  /// False where the inputs are too large to be allocated here.
  bool run_engine(const Engine& engine) {
    Context context = engine.create_context();
    for (const std::size_t kind : {usual_ ? 0 : number_ % filling_kinds, std::size_t{0}}) {
      std::size_t place = 0;
      for (const Binding& input : engine.inputs()) {
        if (!input.image.empty()) return false; // its records contain addresses, which the engine writes
        while (place < seed_.operands.size() && seed_.operands[place].kind != Operand::Kind::input) ++place;
        const auto item = filled(seed_.operands.at(place++), kind);
        if (!item) return false;
        context.bind(input.name, *item);
      }
      context.run();
      for (const Binding& output : engine.outputs()) static_cast<void>(context.output(output.name));
    }
    return true;
  }

  void try_tactics(std::unique_ptr<Graph> graph, Outcome& outcome) {
    sweep::Problems problems;
    const Control control;
    sweep::add_all(problems, std::move(graph), {"hostile", precision_, target_}, control);
    for (const sweep::Problem* problem : problems.sorted())
      for (const sweep::Offer& offer : sweep::offers_of(*problem, target_)) {
        ++outcome.kernels;
        try_tactic(*problem, offer, control, outcome);
      }
  }

  void try_tactic(const sweep::Problem& problem, const sweep::Offer& offer, const Control& control,
                  Outcome& outcome) {
    const Target target = target_.for_device(offer.backend->device());
    WeightStore constants;
    TrialData data(*problem.node, target.threads, control);
    Trial trial({*problem.node, *offer.backend, offer.tactic, target}, data, constants);
    const std::string wrong = trial.check(trial_runs).wrong;
    if (wrong.empty()) return;
    check_deadline(); // A check that had no time says nothing about the kernel.
    outcome.end = End::wrong;
    outcome.message =
        fmt::format("{} {} of {}: {}", offer.backend->name(), offer.tactic.kernel, problem.text, wrong);
  }

  const Seed& seed_;
  std::size_t number_;
  bool usual_;
  std::string precision_;
  Target target_;
};

} // namespace

std::string_view to_string(End end) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(End::count)> names{
      "refused when read", "refused when built", "refused when run",          "ran",
      "built, not run",    "internal error",     "exception of another kind", "wrong answer"};
  return names.at(static_cast<std::size_t>(end));
}

Limits case_limits() {
  Limits limits;
  limits.file_bytes = 1 << 20;
  limits.tensor_bytes = 64 << 20;
  limits.total_bytes = 128 << 20;
  limits.nodes = 4096;
  limits.seconds = 3;
  return limits;
}

Outcome run_case(const Seed& seed, std::size_t number, bool usual) {
  Outcome outcome;
  try {
    CaseRun(seed, number, usual).run(outcome);
  } catch (const Error& error) {
    outcome.message = error.message();
    outcome.late = error.code() == ErrorCode::limit_exceeded &&
                   outcome.message.find("the limit seconds") != outcome.message.npos;
    if (error.code() == ErrorCode::internal) outcome.end = End::internal;
    if (outcome.message.find('\n') != outcome.message.npos) {
      outcome.end = End::internal;
      outcome.message = "a message of several lines: " + outcome.message;
    }
  } catch (const std::exception& error) {
    outcome.end = End::foreign;
    outcome.message = error.what();
  }
  return outcome;
}

} // namespace lanner::hostile
