#include "lower/tuner.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/version.h>

#include "base/hash.h"
#include "lower/trial.h"
#include "lower/vouched.h"
#include "plan/signature.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds the time until its end.
class Stopwatch {
public:
  explicit Stopwatch(double& total) : total_(total), start_(Clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { total_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
  double& total_;
  Clock::time_point start_;
};

/// What ends a build, whatever tactic was being tried.
bool ends_build(const Error& error) {
  return error.code() == ErrorCode::cancelled || error.code() == ErrorCode::limit_exceeded;
}

} // namespace

std::string_view to_string(Trust trust) {
  return trust == Trust::checked ? "checked" : trust == Trust::vouched ? "vouched" : "none";
}

Trust parse_trust(std::string_view text) {
  for (const Trust trust : {Trust::checked, Trust::vouched})
    if (text == to_string(trust)) return trust;
  return Trust::none;
}

Tuner::Tuner(Target target, double budget, TimingCache& cache, PackedConstants& constants,
             const Control& control)
    : target_(std::move(target)), budget_(budget), cache_(cache), constants_(constants), control_(control) {}

Tuner::~Tuner() = default;

std::string Tuner::key(const Node& node, const Backend& backend, const Tactic& tactic) const {
  const Target target = target_.for_device(backend.device());
  std::string text = fmt::format("{}|{}|{}|{}|{}|{}|{}|", version(), target.isa, target.threads,
                                 backend.name(), backend.version(), tactic.kernel, signature(node));
  for (const Storage& storage : tactic.inputs) text += storage.to_string() + ",";
  for (const Storage& storage : tactic.outputs) text += ">" + storage.to_string();
  text.append(reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size());
  return hash_hex(std::as_bytes(std::span(text)));
}

/// Without trying anything.
Cost Tuner::known(const std::string& name, const Backend& backend, const Tactic& tactic) const {
  Cost cost{tactic.estimate, false};
  if (target_.deterministic || is_definition(backend)) {
    cost.trust = vouched(backend, tactic.kernel) ? Trust::vouched : Trust::none;
    if (cost.trust == Trust::none) cost.wrong = "deterministic builds take vouched tactics only";
    if (target_.deterministic) return cost;
  }
  if (const auto seconds = measures() ? cache_.seconds(name) : std::nullopt) {
    cost.seconds = *seconds;
    cost.measured = true;
  }
  if (const auto failed = failed_now_.find(name); failed != failed_now_.end()) {
    cost.wrong = failed->second.wrong;
    return cost;
  }
  if (const auto verdict = cache_.verdict(name); verdict && cost.trust == Trust::none) {
    cost.trust = verdict->right() ? Trust::checked : Trust::none;
    cost.wrong = verdict->wrong;
  }
  return cost;
}

Cost Tuner::cost(const Node& node, const Backend& backend, const Tactic& tactic, double best, double until) {
  control_.cancel.check();
  const std::string name = key(node, backend, tactic);
  Cost cost = known(name, backend, tactic);
  const bool settled = !cost.wrong.empty() || (cost.measured && cost.trust != Trust::none);
  if (settled || !measures() || spent_ >= std::min(budget_, until)) return cost;
  try_out(name, node, backend, tactic, best, true);
  return known(name, backend, tactic);
}

Cost Tuner::again(const Node& node, const Backend& backend, const Tactic& tactic, int round, double until) {
  control_.cancel.check();
  const std::string name = key(node, backend, tactic);
  const auto timed = timed_now_.find(name);
  if (timed != timed_now_.end() && timed->second < round && spent_ < std::min(budget_, until)) {
    const auto before = cache_.seconds(name);
    try_out(name, node, backend, tactic, std::numeric_limits<double>::infinity(), true);
    const auto now = cache_.seconds(name);
    if (before && now && *before < *now) cache_.set_seconds(name, *before);
    timed_now_[name] = round;
  }
  return known(name, backend, tactic);
}

Cost Tuner::vet(const Node& node, const Backend& backend, const Tactic& tactic) {
  control_.cancel.check();
  const std::string name = key(node, backend, tactic);
  Cost cost = known(name, backend, tactic);
  if (cost.trust != Trust::none || !cost.wrong.empty()) return cost;
  try_out(name, node, backend, tactic, 0, false);
  return known(name, backend, tactic);
}

/// Checks where there is no verdict yet, then times where that is asked for. A tactic that fails is wrong.
void Tuner::try_out(const std::string& name, const Node& node, const Backend& backend, const Tactic& tactic,
                    double best, bool timed) {
  const Stopwatch watch(spent_);
  const Target target = target_.for_device(backend.device());
  try {
    TrialData& data = data_of(node);
    Trial trial({node, backend, tactic, target}, data, constants_);
    if (!is_definition(backend) && !cache_.verdict(name)) cache_.set_verdict(name, trial.check());
    const auto verdict = cache_.verdict(name);
    if (timed && (!verdict || verdict->right())) {
      cache_.set_seconds(name, trial.seconds(best));
      timed_now_.try_emplace(name, 0);
    }
  } catch (const Error& error) {
    if (ends_build(error)) throw;
    Verdict verdict{fmt::format("it fails: {}", error.message())};
    // What there is no memory for now may run in another build.
    if (error.code() == ErrorCode::out_of_memory)
      failed_now_[name] = std::move(verdict);
    else
      cache_.set_verdict(name, std::move(verdict));
  }
  // A wrong kernel may have written into its operands.
  if (const auto verdict = cache_.verdict(name); verdict && !verdict->right()) data_name_.clear();
}

/// Equal nodes share their data, but for constants of other values.
TrialData& Tuner::data_of(const Node& node) {
  std::string name = signature(node);
  for (const Value* value : node.inputs())
    if (value && value->constant()) name += fmt::format("|{}", fmt::ptr(value->constant()->data()));
  if (data_name_ != name) {
    data_.reset();
    data_ = std::make_unique<TrialData>(node, target_.threads, control_);
    data_name_ = std::move(name);
  }
  return *data_;
}

TacticList Tuner::more_tactics(const Node& node, const Backend& backend) {
  if (!measures() || spent_ >= budget_) return {};
  control_.cancel.check();
  const Stopwatch watch(spent_);
  return backend.more_tactics(node, target_.for_device(backend.device()));
}

} // namespace lanner
