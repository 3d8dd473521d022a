#include "builder/variant.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <lanner/log.h>

#include "backends/backends.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "builder/stream_choice.h"
#include "engine/caller_options.h"
#include "engine/context/given_shapes.h"
#include "graph/op.h"
#include "lower/check/trusted_kernels.h"
#include "lower/emit/schedule.h"
#include "lower/lower.h"
#include "lower/propose/quantized_weights.h"
#include "passes/pipeline.h"
#include "program/lowered/fused_name.h"
#include "program/lowered/lowered.h"

namespace lanner {
namespace {

/// A note on the checks: their time if noticeable, and missed ones.
std::string told(const Checks& checks) {
  constexpr double shows = 0.1;
  if (checks.missed == 0 && checks.seconds < shows) return {};
  std::string text = fmt::format("checked {} kernels, {:.1f} s", checks.kernels, checks.seconds);
  if (checks.missed > 0)
    text += fmt::format("; no time to check {} others: trusted kernels were used (docs/tactics.md)",
                        checks.missed);
  return text;
}

void check_size(const Value& value, const Limits& limits, bool on_host) {
  if (!value.type.is_static() || value.type.dtype() == DType::string) return;
  const std::uint64_t bytes = Layout{}.bytes(value.type.shape(), value.type.dtype());
  check_limit("tensor_bytes", bytes, limits.tensor_bytes, "%{}: {} takes {} bytes", value.name(),
              value.type.to_string(), bytes);
  if (on_host)
    check_limit("total_bytes", bytes, limits.total_bytes, "%{}: {} takes {} bytes", value.name(),
                value.type.to_string(), bytes);
}

/// Rejects sizes over the memory limits before searching kernels, which takes long at such sizes.
void check_sizes(const Graph& graph, const Limits& limits, bool on_host) {
  for (const auto& parameter : graph.body().parameters()) check_size(*parameter, limits, on_host);
  for (const auto& node : graph.body().nodes()) {
    check_deadline();
    for (const auto& output : node->outputs()) check_size(*output, limits, on_host);
  }
}

} // namespace

std::unique_ptr<Graph> specialised_graph(const Graph& graph, const InputShapes& shapes, const Limits& limits,
                                         const Control& control, const WeightReaders& readers) {
  std::unique_ptr<Graph> concrete = graph_at(graph, given_shapes(graph, shapes));
  PassOptions options;
  options.limits = limits;
  options.control = control;
  run_passes(*concrete, options);
  if (fold_weights(*concrete, readers.backends, readers.target, readers.constants))
    run_passes(*concrete, options);
  check_sizes(*concrete, limits, readers.target.device.is_host());
  return concrete;
}

/// Tells the log which nodes of the model run as one step.
static void tell_fusions(const std::string& model, const Graph& lowered) {
  for (const auto& node : lowered.body().nodes())
    if (!is_constant(*node) && node->sources.size() > 1)
      log_message(LogLevel::info, fmt::format("{}: fused {}: {} by {}:{}", model, fused_name(node->sources),
                                              shown_kind(*node), node->tactic.backend, node->tactic.kernel));
}

MadeVariant lowered_variant(const EngineState& state, const VariantKey& key, const VariantMaking& making,
                            double& seconds, const Control& control) {
  const MadeVariant* model = making.model;
  Target own = state.target;
  own.threads = key.threads;
  const std::vector<const Backend*> backends = state.backends(own);
  TimingCache cache(state.timing_cache, state.retune);
  Target tried = own;
  // Checking kernels at a first run takes longer than many runs. For sizes within a profile the list of
  // trusted kernels is sufficient, as in deterministic builds.
  if (model && state.profile_of(key.shapes) && trusted(model->program->graph(), backends))
    tried.deterministic = true;
  Tuner tuner(tried, seconds, cache, state.constants(), control);
  if (making.sizes_only) tuner.believe();
  if (making.trusting) tuner.take_trusted();
  std::unique_ptr<Graph> graph = specialised_graph(state.portable(), key.shapes, state.limits, control,
                                                   {backends, own, state.constants()});
  check_aliases(state, *graph);
  LowerOptions options{backends, own, tuner, state.constants(), control};
  if (model) options.tactic_source = &model->program->graph();
  options.callers = state.callers;
  Lowered result = lower(std::move(graph), options);
  cache.save();
  tell_fusions(state.graph->name, *result.graph);
  auto program = std::make_shared<const Program>(std::move(result.graph), backends, own, state.constants(),
                                                 state.callers);
  seconds = std::max(seconds - tuner.spent(), 0.0);
  ChosenStreams chosen =
      choose_streams(std::move(program), {.backends = backends,
                                          .target = own,
                                          .constants = state.constants(),
                                          .callers = state.callers,
                                          .control = control,
                                          .timing_cache = state.timing_cache,
                                          .seconds = tuner.measures() ? seconds : 0,
                                          .source_streams = model ? streams_of(model->program->graph()) : 0});
  seconds = std::max(seconds - chosen.seconds, 0.0);
  if (std::string note = told(tuner.checks()); !note.empty()) {
    log_message(LogLevel::info, fmt::format("{}: {}", state.graph->name, note));
    result.reports.push_back({{}, {}, {std::move(note)}});
  }
  if (!chosen.note.empty()) result.reports.push_back({{}, {}, {std::move(chosen.note)}});
  return {std::move(chosen.program), std::move(result.reports), key.threads};
}

} // namespace lanner
