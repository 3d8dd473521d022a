#include "lower/emit/schedule.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/limits/account.h"
#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/work.h"
#include "program/memory/placement.h"

namespace lanner {
namespace {

/// Seconds from the end of a kernel until one of another stream begins that waited for it.
constexpr double hop = 2e-6;
/// What saves less is not worth a trial.
constexpr double worthwhile = 0.98;

bool on_host(const Value* value) {
  return value && (value->storage.device.is_host() || !is_planned(*value)) && !value->constant();
}

/// Whether a node runs on the host, or copies between it and the GPU.
bool ends_streams(const Node& node) {
  return node.tactic.backend == interpreter_backend || node.tactic.backend == program_backend ||
         std::ranges::any_of(node.inputs(), on_host) ||
         std::ranges::any_of(node.outputs(), [](const auto& output) { return on_host(output.get()); });
}

class Spreading {
public:
  Spreading(const Graph& graph, const Target& target, int streams)
      : graph_(graph), limits_(target.machine()), streams_(static_cast<std::size_t>(streams)) {}

  StreamPlan run() {
    for (const auto& node : graph_.body().nodes()) {
      check_deadline();
      plan_.of_nodes.push_back(0);
      if (is_constant(*node)) continue;
      if (node->tactic.backend == alias_backend) {
        pass_on(*node);
      } else {
        plan_.of_nodes.back() = place(*node);
      }
    }
    plan_.streams = renumber();
    for (std::size_t s = 0; s < streams_; ++s) // the caller's stream waits for all in the end
      plan_.at_best = std::max(plan_.at_best, free_[s] > 0 && s > 0 ? free_[s] + hop : free_[s]);
    plan_.at_worst = std::max(plan_.at_best, busy_);
    return std::move(plan_);
  }

private:
  /// A kernel that has its place.
  struct Placed {
    std::size_t stream = 0;
    double end = 0;
  };

  /// What a value lies in is there when those have run that write it.
  void pass_on(const Node& node) {
    std::vector<std::size_t> makers;
    for (const Value* input : node.inputs())
      if (input) makers.insert(makers.end(), makers_[input].begin(), makers_[input].end());
    for (const auto& output : node.outputs()) makers_[output.get()] = makers;
  }

  int place(const Node& node) {
    const double seconds = seconds_of(node);
    plan_.alone += seconds;
    plan_.timed += node.tactic.seconds;
    std::vector<std::size_t> behind;
    for (const Value* input : node.inputs())
      if (input) behind.insert(behind.end(), makers_[input].begin(), makers_[input].end());
    Placed placed;
    if (ends_streams(node)) {
      placed.end = *std::ranges::max_element(free_) + seconds;
      free_.fill(placed.end);
      busy_ += seconds;
    } else {
      placed.stream = first_free(behind);
      placed.end = begin(placed.stream, behind) + seconds;
      free_[placed.stream] = placed.end;
      busy_ += std::clamp(limit_of(node) / seconds, 0.5, 1.0) * seconds;
    }
    for (const auto& output : node.outputs()) makers_[output.get()] = {placed_.size()};
    placed_.push_back(placed);
    return static_cast<int>(placed.stream);
  }

  double begin(std::size_t stream, const std::vector<std::size_t>& behind) const {
    double begin = free_[stream];
    for (const std::size_t before : behind)
      begin = std::max(begin, placed_[before].end + (placed_[before].stream == stream ? 0 : hop));
    return begin;
  }

  /// Where it can begin first; among equals where what it reads was made last, else the first.
  std::size_t first_free(const std::vector<std::size_t>& behind) const {
    std::size_t best = 0;
    double made = -1;
    for (const std::size_t before : behind)
      if (placed_[before].end > made) made = placed_[before].end, best = placed_[before].stream;
    for (std::size_t s = 0; s < streams_; ++s)
      if (begin(s, behind) < begin(best, behind)) best = s;
    return best;
  }

  /// As timed; else no less than it takes to start.
  double seconds_of(const Node& node) const {
    return node.tactic.seconds > 0 ? node.tactic.seconds : limits_.start + limit_of(node);
  }

  /// Seconds in which the device could do it at the very least.
  double limit_of(const Node& node) const {
    return std::max(static_cast<double>(bytes_of(node)) / limits_.bytes,
                    static_cast<double>(flops_of(node)) / limits_.operations);
  }

  /// Streams in the order in which they are first used, without those that are not; the first node may have
  /// gone to any.
  int renumber() {
    std::array<int, max_streams> names;
    names.fill(-1);
    names[0] = 0; // what ends all streams runs there
    int used = 1;
    for (int& stream : plan_.of_nodes) {
      int& name = names[static_cast<std::size_t>(stream)];
      if (name < 0) name = used++;
      stream = name;
    }
    return used;
  }

  const Graph& graph_;
  MachineLimits limits_;
  std::size_t streams_;
  StreamPlan plan_;
  std::array<double, max_streams> free_{}; ///< When each stream has done what it was given.
  double busy_ = 0;                        ///< Seconds of the whole device, at worst.
  std::vector<Placed> placed_;
  std::map<const Value*, std::vector<std::size_t>> makers_; ///< Of those placed.
};

} // namespace

std::optional<StreamPlan> spread(const Graph& lowered, const Target& target, int streams) {
  if (target.device.is_host() || uses_further(lowered, target)) return std::nullopt;
  StreamPlan plan = Spreading(lowered, target, std::clamp(streams, 1, max_streams)).run();
  if (plan.streams < 2 || plan.at_best > worthwhile * plan.alone) return std::nullopt;
  return plan;
}

void set_streams(Graph& lowered, const StreamPlan& plan) {
  std::size_t number = 0;
  for (const auto& node : lowered.body().nodes()) node->set_stream(plan.of_nodes.at(number++));
}

int streams_of(const Graph& lowered) {
  int streams = 1;
  for (const auto& node : lowered.body().nodes()) streams = std::max(streams, node->stream() + 1);
  return streams;
}

} // namespace lanner
