#include "lower/measure/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/version.h>

#include "base/hash.h"
#include "base/limits/account.h"
#include "device/cpu.h"
#include "lower/check/trial.h"
#include "lower/check/trusted_kernels.h"
#include "lower/measure/preparation_queue.h"
#include "lower/measure/timing_lock.h"
#include "program/lowered/lowered.h"
#include "program/lowered/signature.h"
#include "program/memory/placement.h"
#include "program/side_by_side.h"

namespace lanner {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether an error ends the whole build, not only the tactic under test.
bool ends_build(const Error& error) {
  return error.code() == ErrorCode::cancelled || error.code() == ErrorCode::limit_exceeded;
}

/// Device numbers relative to the kernel's own GPU, so that equal GPUs share results.
std::string storages_text(const Tactic& tactic, const Node& node, Device own) {
  const auto key = [&](Storage storage) {
    if (!storage.device.is_host()) storage.device.index = storage.device == own ? 0 : 1;
    return storage_key(storage, node);
  };
  std::string text;
  for (const Storage& storage : tactic.inputs) text += key(storage) + ",";
  for (const Storage& storage : tactic.outputs) text += ">" + key(storage);
  return text;
}

} // namespace

/// A candidate that is checked and timed now.
struct Tuner::Entrant {
  Candidate candidate;
  std::string name;
  Target target;        ///< As passed to its backend.
  bool checked = false; ///< Whether it is compared with the definition before it is timed.
  std::shared_ptr<TrialData> data = {};
  std::unique_ptr<Trial> trial = {}; ///< Null where there is nothing to time.
  std::uint64_t bytes = 0;           ///< Memory of the trial.
};

/// Adds its lifetime, less the time waited for locks, to the time spent.
class Tuner::Spending {
public:
  explicit Spending(double& total) : total_(total), start_(Clock::now()) {}
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;
  ~Spending() { total_ += so_far(); }
  double so_far() const { return std::chrono::duration<double>(Clock::now() - start_).count() - waited_; }
  void waited(double seconds) { waited_ += seconds; }

private:
  double& total_;
  Clock::time_point start_;
  double waited_ = 0;
};

Tuner::Tuner(Target target, double budget, TimingCache& cache, WeightStore& constants, const Control& control)
    : target_(std::move(target)), budget_(budget), cache_(cache), constants_(constants), control_(control),
      prepared_(std::make_unique<PreparationQueue>(constants, control, making_threads(target_))) {}

Tuner::~Tuner() = default;

std::string Tuner::key(const Node& node, const Backend& backend, const Tactic& tactic) const {
  const Device device = device_of(backend, tactic, target_);
  const Target target = target_.on(device);
  // Host threads do not matter to kernels on a GPU.
  const int threads = device.is_host() ? target.threads : 0;
  const bool cold = device.is_host() && finds_constants_cold();
  std::string text = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|", version(), target.isa, threads, cold,
                                 backend.name(), backend.version(), tactic.kernel, signature(node));
  text += storages_text(tactic, node, device);
  text.append(reinterpret_cast<const char*>(tactic.config.data()), tactic.config.size());
  return hash_hex(std::as_bytes(std::span(text)));
}

/// Whether the network's constants are more than the caches of all threads hold from run to run.
bool Tuner::finds_constants_cold() const {
  if (!cold_) cold_ = constants_.bytes() > cache_sizes().l2 * static_cast<std::uint64_t>(target_.threads);
  return *cold_;
}

/// Cost as known from the cache, without running anything.
Cost Tuner::known(const std::string& name, const Backend& backend, const Tactic& tactic) const {
  Cost cost{tactic.estimate, false};
  if (believes_) {
    cost.trust = Trust::trusted;
    return cost;
  }
  if (target_.deterministic || is_definition(backend)) {
    cost.trust = backend.trusts(tactic.kernel, lies_within(tactic)) ? Trust::trusted : Trust::none;
    if (cost.trust == Trust::none) cost.wrong = "deterministic builds take trusted tactics only";
    if (target_.deterministic) return cost;
  }
  if (const auto timing = measures() ? cache_.timing(name) : std::nullopt) {
    cost.seconds = timing->seconds;
    cost.error = timing->error;
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
  if (takes_trusted_ && cost.trust == Trust::none && cost.wrong.empty() &&
      backend.trusts(tactic.kernel, lies_within(tactic)))
    cost.trust = Trust::trusted;
  return cost;
}

std::vector<Cost> Tuner::costs(const Node& node, std::span<const Candidate> candidates,
                               const Effort& effort) {
  return costs(node, candidates, std::numeric_limits<double>::infinity(), effort, true);
}

Cost Tuner::cost(const Node& node, const Backend& backend, const Tactic& tactic, double best, double until) {
  const Candidate one{&backend, &tactic};
  return costs(node, std::span(&one, 1), best, {until, Effort::unnoticed * network_}, false).front();
}

/// A check costs as much of the budget as timing, or more: trusted kernels are checked once they are chosen.
bool Tuner::checked_first(const Candidate& one) {
  return !one.backend->trusts(one.tactic->kernel, lies_within(*one.tactic));
}

std::vector<Cost> Tuner::costs(const Node& node, std::span<const Candidate> candidates, double rival,
                               const Effort& effort, bool checked) {
  control_.cancel.check();
  if (measures()) cache_.refresh();
  std::vector<std::string> names;
  std::vector<Entrant> entrants;
  for (const Candidate& one : candidates) {
    names.push_back(key(node, *one.backend, *one.tactic));
    const Cost cost = known(names.back(), *one.backend, *one.tactic);
    const bool check = checked && checked_first(one);
    const bool settled = !cost.wrong.empty() || (cost.measured && (!check || cost.trust != Trust::none));
    if (!settled)
      entrants.push_back(
          {one, names.back(), target_.on(device_of(*one.backend, *one.tactic, target_)), check});
    if (settled && cost.measured) rival = std::min(rival, cost.seconds);
  }
  const bool time_left = measures() && spent_ < std::min(budget_, effort.until);
  if (time_left && !entrants.empty()) find_out(node, entrants, rival, effort);
  std::vector<Cost> costs;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    costs.push_back(known(names[i], *candidates[i].backend, *candidates[i].tactic));
  return costs;
}

Tuner::Preparing Tuner::prepare(std::span<const Untried> nodes, For purpose) {
  if (making_threads(target_) <= 1) return Preparing();
  Preparing preparing(this);
  std::set<std::string> names;
  for (const auto& [node, candidates] : nodes) {
    const bool compared = purpose == For::check || std::ranges::any_of(candidates, checked_first);
    for (const Candidate& one : candidates) {
      const auto& [backend, tactic] = one;
      std::string name = key(*node, *backend, *tactic);
      const Cost cost = known(name, *backend, *tactic);
      const bool checks = purpose == For::check || checked_first(one);
      const bool settled =
          !cost.wrong.empty() || ((cost.trust != Trust::none || !checks) && (cost.measured || !measures()));
      if (settled || is_definition(*backend) || !names.insert(name).second) continue;
      const Target own = target_.on(device_of(*backend, *tactic, target_));
      if (std::string of_node = data_name(*node); !cache_.verdict(name) && names.insert(of_node).second)
        prepared_->add_data({node, backend, *tactic, own, std::move(of_node), compared});
      prepared_->add_kernel({node, backend, *tactic, own, std::move(name), false});
    }
  }
  return preparing;
}

Tuner::Preparing::~Preparing() {
  if (!tuner_) return;
  const Spending spending(tuner_->spent_);
  tuner_->prepared_->finish();
}

/// In batches of as many as fit in memory.
void Tuner::find_out(const Node& node, std::span<Entrant> entrants, double rival, const Effort& effort) {
  constexpr std::uint64_t max_held = 64 << 20;
  Spending spending(spent_);
  const double until = std::min(budget_, effort.until) - spent_;
  std::vector<Entrant*> batch;
  std::uint64_t held = 0;
  const auto run_batch = [&] {
    time(batch, node, {rival, effort.worth, until - spending.so_far()}, spending);
    for (Entrant* one : batch) {
      if (const auto timing = cache_.timing(one->name)) rival = std::min(rival, timing->seconds);
      one->trial.reset();
    }
    batch.clear();
    held = 0;
  };
  for (Entrant& one : entrants) {
    if (&one != &entrants.front() && spending.so_far() >= until) break;
    try_out(one, node, budget_ - spent_ - spending.so_far());
    if (!one.trial) continue;
    batch.push_back(&one);
    held += one.bytes;
    if (held > max_held) run_batch();
  }
  run_batch();
}

/// Interleaved timing of those that no other build has timed meanwhile.
void Tuner::time(std::span<Entrant* const> batch, const Node& node, InterleavedTimingOptions options,
                 Spending& spending) {
  if (batch.empty()) return;
  std::filesystem::path lock = cache_.file();
  if (!lock.empty()) lock += ".timing_lock";
  const TimingLock timing_lock(lock, control_.cancel);
  spending.waited(timing_lock.waited());
  cache_.refresh();
  std::vector<Entrant*> contenders;
  std::vector<Runner> runners;
  std::map<std::string, std::size_t> kinds;
  for (Entrant* one : batch) {
    if (const auto timing = cache_.timing(one->name)) {
      options.rival = std::min(options.rival, timing->seconds);
      continue;
    }
    const std::size_t kind =
        kinds.emplace(storages_text(*one->candidate.tactic, node, one->target.device), kinds.size())
            .first->second;
    contenders.push_back(one);
    runners.push_back({[this, one](int times) { return timed(*one, times); }, one->trial->grain(), kind,
                       one->target.device.is_host(), one->trial->launch()});
  }
  const std::vector<Timing> timings = time_interleaved(runners, options);
  for (std::size_t i = 0; i < contenders.size(); ++i)
    if (std::isfinite(timings[i].seconds)) cache_.set_timing(contenders[i]->name, timings[i]);
  cache_.save();
}

double Tuner::timed(Entrant& entrant, int times) {
  control_.cancel.check();
  try {
    return entrant.trial->timed(times);
  } catch (const Error& error) {
    note_failure(entrant.name, error);
    return std::numeric_limits<double>::infinity();
  }
}

Cost Tuner::vet(const Node& node, const Backend& backend, const Tactic& tactic) {
  control_.cancel.check();
  Entrant one{
      {&backend, &tactic}, key(node, backend, tactic), target_.on(device_of(backend, tactic, target_)), true};
  Cost cost = known(one.name, backend, tactic);
  const auto is_settled = [&] { return cost.trust != Trust::none || !cost.wrong.empty(); };
  if (is_settled()) return cost;
  if (const double left = std::max(budget_ - spent_, vetting_ - vetted_); left > 0) {
    const double before = spent_;
    {
      const Spending spending(spent_);
      try_out(one, node, left);
    }
    vetted_ += std::max(0.0, spent_ - std::max(before, budget_)); // Beyond the budget.
    cost = known(one.name, backend, tactic);
  }
  if (is_settled()) return cost;
  ++checks_.missed;
  if (backend.trusts(tactic.kernel, lies_within(tactic)))
    cost.trust = Trust::trusted;
  else
    cost.wrong = "there was no time to check it; raise the tuning budget";
  return cost;
}

/// Checks a tactic that is to be checked and has no verdict yet. A tactic that fails is wrong; one that is
/// right is ready to be timed; one not checked within `left` seconds stays unknown.
void Tuner::try_out(Entrant& entrant, const Node& node, double left) {
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const bool checks =
      entrant.checked && !is_definition(*entrant.candidate.backend) && !cache_.verdict(entrant.name);
  try {
    make_trial(entrant, node, checks, left);
  } catch (const Error& error) {
    const bool late = error.code() == ErrorCode::limit_exceeded && seconds() >= left;
    if (!late) note_failure(entrant.name, error);
    control_.cancel.check(); // that may have been the build's own deadline
    entrant.trial.reset();
  }
  if (checks) checks_.seconds += seconds();
  if (const auto verdict = cache_.verdict(entrant.name); verdict && !verdict->right()) {
    entrant.trial.reset();
    data_name_.clear(); // the kernel may have overwritten its operands
  }
}

void Tuner::make_trial(Entrant& entrant, const Node& node, bool checked, double left) {
  const auto& [backend, tactic] = entrant.candidate;
  Limits limits;
  limits.seconds = std::max(left, 1e-3);
  const DeadlineScope deadline(limits);
  entrant.data = data_of(node);
  auto trial = std::make_unique<Trial>(TrialSubject{node, *backend, *tactic, entrant.target}, *entrant.data,
                                       constants_, prepared_->take_kernel(entrant.name));
  if (checked) {
    cache_.set_verdict(entrant.name, trial->check());
    ++checks_.kernels;
  }
  trial->forget_results();
  if (finds_constants_cold()) trial->let_constants_get_cold();
  entrant.bytes = trial->held_bytes();
  entrant.trial = std::move(trial);
}

void Tuner::note_failure(const std::string& name, const Error& error) {
  if (ends_build(error)) throw;
  Verdict verdict{fmt::format("it fails: {}", error.message())};
  // Out of memory now; another build may have enough.
  if (error.code() == ErrorCode::out_of_memory)
    failed_now_[name] = std::move(verdict);
  else
    cache_.set_verdict(name, std::move(verdict));
}

/// Equal nodes share their data unless their constants have other values.
std::string Tuner::data_name(const Node& node) {
  std::string name = signature(node);
  for (const Value* value : node.inputs())
    if (value && value->constant()) name += fmt::format("|{}", fmt::ptr(value->constant()->data()));
  return name;
}

std::shared_ptr<TrialData> Tuner::data_of(const Node& node) {
  std::string name = data_name(node);
  if (data_name_ != name) {
    data_name_.clear(); // creating new data may fail
    data_.reset();
    data_ = prepared_->take_data(name);
    if (!data_) data_ = std::make_shared<TrialData>(node, target_.threads, control_);
    data_name_ = std::move(name);
  }
  return data_;
}

void Tuner::search(const std::function<void()>& look) {
  if (!measures() || spent_ >= budget_) return;
  control_.cancel.check();
  const Spending spending(spent_);
  look();
}

} // namespace lanner
