#include "tactics/worker.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <set>

#include <sys/prctl.h>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "tactics/networks.h"
#include "tactics/rows.h"

namespace lanner::sweep {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void tell(std::string_view prefix, const std::string& text) {
  fmt::print("{}{}\n", prefix, text);
  std::fflush(stdout);
}

/// Thrown to leave all loops with an exit code.
struct Leave {
  int code;
};

/// Runs `work`; returns why it failed, or empty.
template<typename Work>
std::string why_not(const Work& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error.message();
  } catch (const std::bad_alloc&) {
    return "no memory";
  }
}

class Worker {
public:
  explicit Worker(const Settings& settings) : settings_(settings), done_(keys_in(settings.log)) {
    for (const std::string& precision : settings.precisions)
      targets_.push_back(target_of(settings, precision));
    machine_ = machine_of(targets_.front());
  }

  int run() {
    try {
      if (settings_.chosen)
        run_chosen();
      else
        run_all();
    } catch (const Leave& leave) {
      return leave.code;
    }
    return all_done;
  }

private:
  /// Calls `visit(network, batch, index of precision)` for each supported combination.
  template<typename Visit>
  void each_build(const Visit& visit) {
    for (const std::string& path : settings_.networks) {
      const std::string name = std::filesystem::path(path).stem().string();
      std::unique_ptr<Graph> network;
      for (std::size_t p = 0; p < targets_.size(); ++p)
        for (const std::int64_t batch : settings_.batches) {
          const Origin origin{name, settings_.precisions[p], targets_[p]};
          visit_build(origin, batch, [&] {
            if (!network) network = import_network(path);
            check(batch == settings_.batches.front() || has_open_batch(*network), ErrorCode::unsupported,
                  "its batch is fixed: there is no batch {}", batch);
            visit(network_at(*network, batch, settings_, control_), origin);
          });
        }
    }
  }

  /// A build that fails is a row, not the end.
  template<typename Build>
  void visit_build(const Origin& origin, std::int64_t batch, const Build& build) {
    const std::string name = fmt::format("{} {} {} {}", settings_.chosen ? "chosen" : "all", origin.network,
                                         batch, origin.precision);
    const std::string key = key_of(name, machine_, origin.target);
    if (done_.contains(key)) return;
    leave_in_time();
    Row row = build_row(origin, batch, machine_, key);
    tell(trying_prefix, row.dump());
    const Clock::time_point start = Clock::now();
    Finding finding;
    finding.untried = why_not(build);
    // every process queries the offers anew
    if (finding.untried.empty() && !settings_.chosen) return;
    finish(row, finding, start);
  }

  void run_all() {
    Problems problems;
    each_build([&](std::unique_ptr<Graph> graph, const Origin& origin) {
      add_all(problems, std::move(graph), origin, control_);
    });
    run_problems(problems);
  }

  void run_chosen() {
    each_build([&](std::unique_ptr<Graph> graph, const Origin& origin) {
      Problems problems;
      add_chosen(problems, std::move(graph), origin, settings_.budget, control_);
      run_problems(problems);
    });
  }

  void run_problems(const Problems& problems) {
    const std::vector<const Problem*> list = problems.sorted();
    std::size_t number = 0;
    for (const Problem* problem : list) {
      ++number;
      if (std::stoull(problem->key.substr(0, 8), nullptr, 16) % settings_.shares != settings_.share) continue;
      if (number % 20 == 1 || number == list.size())
        tell(words_prefix, fmt::format("problem {} of {}", number, list.size()));
      run_problem(*problem);
    }
  }

  const Target& target_for(const Problem& problem) const {
    for (std::size_t p = 0; p < targets_.size(); ++p)
      if (settings_.precisions[p] == problem.precision) return targets_[p];
    return targets_.front();
  }

  void run_problem(const Problem& problem) {
    const Target& target = target_for(problem);
    const std::string key = key_of(problem.key, machine_, target);
    if (done_.contains(key)) return;
    leave_in_time();
    Row row = problem_row(problem, machine_, key);
    tell(trying_prefix, row.dump());
    const Clock::time_point start = Clock::now();
    Finding finding;
    std::size_t count = 0;
    finding.untried = why_not([&] {
      ProblemRun run(problem, target, settings_.runs, control_);
      for (const Offer& offer : offers_of(problem, target)) {
        ++count;
        run_offer(problem, offer, target, run);
      }
    });
    row["tactics"] = count;
    // A later sweep may ask for more of the same problem.
    if (!settings_.chosen) finish(row, finding, start);
  }

  void run_offer(const Problem& problem, const Offer& offer, const Target& target, ProblemRun& run) {
    const std::string key = key_of(problem, offer, machine_, target);
    if (done_.contains(key)) return;
    leave_in_time();
    Row row = tactic_row(problem, offer, machine_, key);
    tell(trying_prefix, row.dump());
    const Clock::time_point start = Clock::now();
    const Finding finding = run.run(offer);
    finish(row, finding, start);
    if (finding.lost_device) throw Leave{start_again};
  }

  void finish(Row& row, const Finding& finding, Clock::time_point start) {
    conclude(row, finding, seconds_since(start));
    done_.insert(row.at("key").get<std::string>());
    tell(row_prefix, row.dump());
  }

  void leave_in_time() const {
    if (seconds_since(begin_) > settings_.seconds) throw Leave{time_is_up};
  }

  const Settings& settings_;
  const Clock::time_point begin_ = Clock::now();
  Control control_;
  std::set<std::string> done_;
  std::vector<Target> targets_;
  Machine machine_;
};

} // namespace

int work(const Settings& settings) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody would read its results
  return Worker(settings).run();
}

} // namespace lanner::sweep
