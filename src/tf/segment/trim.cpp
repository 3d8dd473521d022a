#include "tf/segment/trim.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/limits/paced_deadline.h"
#include "base/text/one_line.h"

namespace lanner::tf {
namespace {

class Trimmer {
public:
  using Removed = std::function<void(std::uint32_t, NativeReason)>;
  Trimmer(const SortedGraph& graph, CountedVector<std::uint32_t>& segment_of, const Removed& removed)
      : graph_(graph), segment_of_(segment_of), removed_(removed) {}

  void run() {
    CountedVector<std::uint32_t> check(graph_.size());
    for (std::uint32_t i = 0; i < graph_.size(); ++i) check[i] = i;
    while (!check.empty()) {
      // What goes with all that leads to it, and what goes with all that follows it, one after the other:
      // each of the two leaves a segment that no path leaves and enters again.
      CountedVector<std::uint32_t> upwards, downwards;
      for (const std::uint32_t node : check) {
        deadline_();
        if (segment_of_[node] == no_index) continue;
        if (bad_input(node))
          upwards.push_back(node);
        else if (bad_output(node))
          (graph_.is_constant(node) ? upwards : downwards).push_back(node);
      }
      changed_.clear();
      remove(upwards, true);
      remove(downwards, false);
      std::ranges::sort(changed_);
      changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
      check.swap(changed_);
    }
  }

private:
  const GraphEdge& edge(std::uint32_t e) const { return graph_.edges()[e]; }

  bool bad_input(std::uint32_t node) const {
    if (graph_.node(node).inputs_may_enter) return false;
    return std::ranges::any_of(graph_.in(node), [&](std::uint32_t e) {
      const std::uint32_t from = edge(e).from;
      return edge(e).data && segment_of_[from] != segment_of_[node] && !graph_.is_constant(from);
    });
  }

  bool bad_output(std::uint32_t node) const {
    if (graph_.node(node).outputs_may_leave && !graph_.is_constant(node)) return false;
    return !graph_.fetched(node).empty() || std::ranges::any_of(graph_.out(node), [&](std::uint32_t e) {
      return edge(e).data && segment_of_[edge(e).to] != segment_of_[node];
    });
  }

  std::string name(std::uint32_t node) const {
    constexpr std::size_t longest = 200;
    return one_line(graph_.node(node).name, longest);
  }

  NativeReason own_reason(std::uint32_t node, bool upwards) const {
    if (graph_.is_constant(node))
      return {"constant", "it is a constant that native nodes read too; engines that read it have a copy"};
    if (upwards)
      return {"engine_input", "it reads from outside of its segment what may not be an engine's input"};
    return {"engine_output", "it gives to outside of its segment what may not be an engine's output"};
  }

  NativeReason reason(std::uint32_t node, std::uint32_t cause, bool upwards) const {
    if (node == cause) return own_reason(node, upwards);
    return {upwards ? "engine_input" : "engine_output",
            fmt::format("it {} '{}', which left the segment: {}", upwards ? "leads to" : "follows",
                        name(cause), own_reason(cause, upwards).text)};
  }

  /// Each node leaves with a cause, one of those given.
  void remove(const CountedVector<std::uint32_t>& nodes, bool upwards) {
    CountedVector<std::pair<std::uint32_t, std::uint32_t>> queue;
    for (const std::uint32_t node : nodes) queue.emplace_back(node, node);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      deadline_();
      const std::uint32_t node = queue[i].first, cause = queue[i].second;
      const std::uint32_t segment = segment_of_[node];
      if (segment == no_index) continue;
      segment_of_[node] = no_index;
      removed_(node, reason(node, cause, upwards));
      const auto visit = [&](std::uint32_t neighbour, bool goes_too) {
        if (segment_of_[neighbour] != segment) return;
        if (goes_too)
          queue.emplace_back(neighbour, cause);
        else
          changed_.push_back(neighbour);
      };
      for (const std::uint32_t e : graph_.in(node)) visit(edge(e).from, upwards);
      for (const std::uint32_t e : graph_.out(node)) visit(edge(e).to, !upwards);
    }
  }

  const SortedGraph& graph_;
  CountedVector<std::uint32_t>& segment_of_;
  const Removed& removed_;
  CountedVector<std::uint32_t> changed_; ///< Nodes next to a removed one.
  PacedDeadline deadline_;
};

} // namespace

void trim_segments(const SortedGraph& graph, CountedVector<std::uint32_t>& segment_of,
                   const std::function<void(std::uint32_t, NativeReason)>& removed) {
  Trimmer(graph, segment_of, removed).run();
}

} // namespace lanner::tf
