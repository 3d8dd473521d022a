#include "backends/convolution/conv_engines.h"

#include <algorithm>
#include <array>

#include "backends/cuda/memo.h"

namespace lanner::cuda {
namespace {

constexpr std::size_t kept_searches = 4096, kept_plans = 256, engines_of_best_forms = 3, tries_for_each = 4;
constexpr std::array modes{cudnn::HeuristicsMode::a, cudnn::HeuristicsMode::fallback};

// Guessed costs: of two kernels instead of one, and of a fallback engine.
constexpr double slowness_of_split = 1.3, slowness_of_last_resort = 4;

double slowness_of(ConvForm form) {
  return form == ConvForm::split ? slowness_of_split : 1;
}

// Leaked on purpose, as the handles are: the driver may be unloaded before exit handlers run.
Memo<std::shared_ptr<const ReadyGraph>>& plans() {
  static auto* made = new Memo<std::shared_ptr<const ReadyGraph>>(kept_plans);
  return *made;
}

} // namespace

/// The engines of one graph found so far.
struct ConvEngines::Candidates {
  std::vector<EngineChoice> named; ///< From the heuristics, best first.
  std::size_t modes_asked = 0, tried = 0;
  std::size_t named_first = 0; ///< How many of these the first mode named.
  std::vector<EngineChoice> working;
  std::size_t expected = 0; ///< How many of these the first mode named.
  std::string reason;       ///< Error of the last failure.
  bool refused_only = true; ///< All failures were "not supported", which is permanent.
  bool stopped = false;     ///< The graph cannot be built, or memory ran out.

  bool enough(std::size_t most) const {
    const bool exhausted = tried == named.size() && modes_asked == modes.size();
    return stopped || exhausted || working.size() >= most || tried >= tries_for_each * most;
  }
  /// Whether another search would give the same result.
  bool lasting() const { return refused_only || (!stopped && !working.empty()); }
  void failed(const Error& error) {
    reason = error.message();
    refused_only = refused_only && error.code() == ErrorCode::unsupported;
    stopped = error.code() == ErrorCode::out_of_memory;
  }

  static Memo<Candidates>& known() {
    static auto* made = new Memo<Candidates>(kept_searches);
    return *made;
  }
};

ConvEngines::ConvEngines(const ConvProblem& problem, const EngineRules& rules, Device device,
                         cudnn::Handle handle)
    : problem_(problem), rules_(rules), handle_(handle),
      name_(fmt::format("{}|{}", device.to_string(), problem.text())) {}

void ConvEngines::forget() {
  plans().forget();
  Candidates::known().forget();
}

std::string ConvEngines::key(ConvForm form, std::size_t part) const {
  return fmt::format("{}|{}|{}", name_, static_cast<int>(form), part);
}

std::shared_ptr<const ReadyGraph> ConvEngines::ready(ConvForm form, std::size_t part,
                                                     const EngineChoice& choice,
                                                     std::shared_ptr<const OperationGraph> graph) const {
  const std::string name = fmt::format("{}|{}|{}", key(form, part), choice.engine, choice.knob_text());
  if (auto known = plans().find(name)) return *known;
  try {
    if (!graph) graph = std::make_shared<const OperationGraph>(conv_graph(problem_, form, part, handle_));
    GraphPlan plan(*graph, choice, handle_);
    auto made = std::make_shared<const ReadyGraph>(ReadyGraph{std::move(graph), std::move(plan)});
    plans().insert(name, made);
    return made;
  } catch (const Error& error) {
    // Cached plans must not take the memory that is missing now.
    if (error.code() == ErrorCode::out_of_memory) forget();
    throw;
  }
}

ConvEngines::Candidates ConvEngines::candidates(ConvForm form, std::size_t part, std::size_t most) const {
  const std::string name = fmt::format("{}|{}{}{}", key(form, part), rules_.exact ? "exact" : "",
                                       rules_.deterministic ? "same" : "", rules_.direct ? "direct" : "");
  Candidates found = Candidates::known().find(name).value_or(Candidates{});
  if (found.enough(most)) return found;
  try {
    const auto graph = std::make_shared<const OperationGraph>(conv_graph(problem_, form, part, handle_));
    while (!found.enough(most)) {
      try {
        if (found.tried == found.named.size()) {
          const bool first = found.modes_asked == 0;
          add_engines(found.named, *graph, modes[found.modes_asked++], rules_);
          if (first) found.named_first = found.named.size();
          continue;
        }
        const EngineChoice& choice = found.named[found.tried++];
        static_cast<void>(ready(form, part, choice, graph));
        found.working.push_back(choice);
        if (found.tried <= found.named_first) ++found.expected;
      } catch (const Error& error) {
        // One mode may not support a graph that the other supports, and an engine may lack what another has.
        found.failed(error);
      }
    }
  } catch (const Error& error) {
    found.failed(error);
    found.stopped = true;
  }
  if (found.lasting()) Candidates::known().insert(name, found);
  return found;
}

std::vector<EngineCandidate> ConvEngines::candidates_of(ConvForm form, std::size_t most,
                                                        std::string& reason) const {
  std::vector<EngineCandidate> found;
  for (std::size_t part = 0; part < conv_parts(form); ++part) {
    const Candidates engines = candidates(form, part, part == 0 ? most : 1);
    if (engines.working.empty()) {
      reason = engines.reason.empty() ? "cudnn: its heuristics name no engine that meets the numerical rules"
                                      : engines.reason;
      return {};
    }
    if (part == 0)
      for (std::size_t i = 0; i < std::min(most, engines.working.size()); ++i)
        found.push_back({form, {engines.working[i]}, slowness_of(form), i >= engines.expected});
    else
      for (EngineCandidate& candidate : found) candidate.choices.push_back(engines.working.front());
  }
  return found;
}

bool ConvEngines::is_better_alone(ConvForm form, const EngineCandidate& candidate) const {
  if (form == ConvForm::split || problem_.steps.empty()) return false;
  const EngineChoice& only = candidate.choices.front();
  if (candidates(form, 0, 1).named_first > 1) return false;
  const Candidates alone = candidates(ConvForm::split, 0, 1);
  return !alone.working.empty() && alone.expected > 0 && alone.working.front() != only &&
         std::ranges::find(alone.named, only) != alone.named.end();
}

std::optional<EngineCandidate> ConvEngines::first_candidate(std::string& reason) const {
  std::optional<EngineCandidate> last_resort;
  for (const ConvForm form : conv_forms(problem_)) {
    std::vector<EngineCandidate> found = candidates_of(form, 1, reason);
    if (found.empty()) continue;
    if (!found.front().last_resort && !is_better_alone(form, found.front())) return std::move(found.front());
    if (!last_resort) last_resort = std::move(found.front());
  }
  if (!last_resort) return std::nullopt;
  last_resort->slowness *= slowness_of_last_resort;
  last_resort->last_resort = true;
  return last_resort;
}

std::vector<EngineCandidate> ConvEngines::further_candidates(std::string& reason) const {
  const auto first = first_candidate(reason);
  if (!first) return {};
  std::vector<EngineCandidate> found;
  double later = 1; // The heuristics name the best one first.
  for (const ConvForm form : conv_forms(problem_)) {
    const bool several = form == ConvForm::fused || form == first->form;
    for (EngineCandidate& candidate : candidates_of(form, several ? engines_of_best_forms : 1, reason)) {
      if (candidate.form == first->form && candidate.choices == first->choices) continue;
      candidate.slowness *= later += 0.05;
      found.push_back(std::move(candidate));
    }
  }
  return found;
}

bool ConvEngines::works(const EngineCandidate& candidate, std::string& reason) const {
  try {
    for (std::size_t part = 0; part < candidate.choices.size(); ++part)
      if (!ready(candidate.form, part, candidate.choices[part])->plan.keeps(rules_)) {
        reason = "cudnn: the engine does not meet the numerical rules";
        return false;
      }
  } catch (const Error& error) {
    reason = error.message();
    return false;
  }
  return true;
}

} // namespace lanner::cuda
