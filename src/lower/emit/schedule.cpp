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

/// Seconds between the end of a kernel and the start of one that waits for it on another stream.
constexpr double hop = 2e-6;
/// Share of the time above which a schedule is not worth trying.
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
    for (std::size_t s = 0; s < streams_; ++s) // the caller's stream finally waits for all
      plan_.at_best = std::max(plan_.at_best, free_[s] > 0 && s > 0 ? free_[s] + hop : free_[s]);
    plan_.at_worst = std::max(plan_.at_best, busy_);
    return std::move(plan_);
  }

private:
  /// A scheduled kernel.
  struct Placed {
    std::size_t stream = 0;
    double end = 0;
  };

  /// Records which kernels write the memory of the node's values.
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

  /// The stream on which it can start first; of equal ones that of its latest operand, else the first.
  std::size_t first_free(const std::vector<std::size_t>& behind) const {
    std::size_t best = 0;
    double made = -1;
    for (const std::size_t before : behind)
      if (placed_[before].end > made) made = placed_[before].end, best = placed_[before].stream;
    for (std::size_t s = 0; s < streams_; ++s)
      if (begin(s, behind) < begin(best, behind)) best = s;
    return best;
  }

  /// As timed; else at least the launch time.
  double seconds_of(const Node& node) const {
    return node.tactic.seconds > 0 ? node.tactic.seconds : limits_.start + limit_of(node);
  }

  /// Lower bound of its time on the device, in seconds.
  double limit_of(const Node& node) const {
    return std::max(static_cast<double>(bytes_of(node)) / limits_.bytes,
                    static_cast<double>(flops_of(node)) / limits_.operations);
  }

  /// Renumbers streams by first use and drops unused ones; the first node may be on any.
  int renumber() {
    std::array<int, max_streams> names;
    names.fill(-1);
    names[0] = 0; // nodes that end all streams run there
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
  std::array<double, max_streams> free_{}; ///< When each stream becomes free.
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
