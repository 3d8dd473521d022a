#include "builder/precision/plan_choice.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/log.h>

#include "base/text/json.h"
#include "builder/network_inputs.h"
#include "engine/precision_notes.h"
#include "lower/measure/interleaved_timing.h"
#include "lower/measure/timing_lock.h"
#include "program/lowered/precision.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

/// An engine that runs again and again on the same inputs.
class PlanRun {
public:
  PlanRun(const std::shared_ptr<const EngineState>& state, const std::vector<Item>& inputs,
          const Control& control)
      : engine_(engine_of(state)), context_(engine_.create_context()), control_{control.cancel, {}} {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      context_.bind(engine_.inputs()[i].name, in_binding(engine_, i, inputs[i]));
    context_.run({}, control_); // makes ready what a first run does
  }

  /// Average seconds of a run.
  double timed(int times) {
    const auto start = Clock::now();
    for (int i = 0; i < times; ++i) context_.run({}, control_);
    return std::chrono::duration<double>(Clock::now() - start).count() / times;
  }

private:
  Engine engine_;
  Context context_;
  Control control_;
};

std::string shown(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", 1e6 * seconds) : fmt::format("{:.2f} ms", 1e3 * seconds);
}

} // namespace

bool is_worth_timing(const EngineState& state) {
  const Precision& precision = state.target.precision;
  const bool free = !precision.strict && std::ranges::all_of(precision.pins, [](const PrecisionPin& pin) {
    return pin.type == DType::f32;
  });
  if (!state.opt || !free || !state.target.device.is_host() || state.budget <= 0 ||
      state.target.deterministic)
    return false;
  const auto narrow = std::ranges::count_if(precision.types, [](DType type) { return type != DType::f32; });
  const auto made = state.variant(*state.opt, state.target.threads);
  Target plain = state.target;
  plain.precision.pins.clear();
  return narrow > static_cast<std::ptrdiff_t>(unused_precisions(made->program->graph(), plain).size());
}

std::optional<PlanTimes> timed_plans(const std::shared_ptr<const EngineState>& allowed,
                                     const std::shared_ptr<const EngineState>& fp32, double seconds,
                                     const Control& control) {
  try {
    const std::unique_ptr<Graph> sized =
        graph_at(fp32->portable(), given_shapes(fp32->portable(), *fp32->opt));
    const std::vector<Item> inputs = network_inputs(*sized, {}, {.seed = 1});
    PlanRun first(allowed, inputs, control), second(fp32, inputs, control);
    const std::vector<Runner> runners{{[&](int times) { return first.timed(times); }},
                                      {[&](int times) { return second.timed(times); }}};
    std::filesystem::path lock = allowed->timing_cache;
    if (!lock.empty()) lock += ".timing_lock";
    const TimingLock timing_lock(lock, control.cancel);
    const std::vector<Timing> found = time_interleaved(runners, {.limit = seconds});
    return PlanTimes{found[0].seconds, found[1].seconds, found[1].seconds <= found[0].seconds};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::limit_exceeded) throw;
    log_message(LogLevel::info,
                fmt::format("{}: precision {}: not compared with fp32, as a run fails: {}",
                            allowed->graph->name, allowed->target.precision.types_text(), error.message()));
    return std::nullopt;
  }
}

void record(Graph& graph, const PlanTimes& times, const std::string& line) {
  std::string& text = graph.metadata[std::string(precision_key)];
  nlohmann::ordered_json json = text.empty() ? nlohmann::ordered_json::object() : parse_own_json(text);
  json["kept"] = times.fp32_wins ? "fp32" : "allowed";
  json["seconds"] = times.allowed;
  json["fp32_seconds"] = times.fp32;
  json["notes"].push_back(line);
  text = exact_json_text(json);
}

std::string told(const PlanTimes& times, const std::string& types) {
  return fmt::format("precision {}: {} a run, {} in fp32{}", types, shown(times.allowed), shown(times.fp32),
                     times.fp32_wins ? "; the plan of fp32 is kept" : "");
}

} // namespace lanner
