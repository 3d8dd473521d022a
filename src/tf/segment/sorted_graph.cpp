#include "tf/segment/sorted_graph.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/limits/limit_error.h"
#include "base/limits/paced_deadline.h"
#include "base/text/joined.h"
#include "base/text/one_line.h"

namespace lanner::tf {
namespace {

constexpr std::size_t longest_name = 200;

std::string quoted(const SegmenterNode& node) {
  return fmt::format("'{}'", one_line(node.name, longest_name));
}

} // namespace

bool ends_iteration(std::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}
bool begins_iteration(std::string_view op) {
  return op == "Merge" || op == "RefMerge";
}

SortedGraph::SortedGraph(const SegmenterGraph& graph) : graph_(graph) {
  check_limit("nodes", graph.nodes.size(), current_limits().nodes, "{} nodes", graph.nodes.size());
  number_nodes();
  std::size_t count = 0;
  for (const SegmenterNode& node : graph.nodes) count += node.inputs.size() + node.control_inputs.size();
  check(count < no_index, ErrorCode::limit_exceeded, "the graph's nodes have {} inputs, expected below {}",
        count, no_index);
  edges_.reserve(count);
  for (std::uint32_t to = 0; to < size(); ++to) add_edges(to);
  add_fetched();
  index_edges();
  require_no_cycle();
  sort();
}

void SortedGraph::number_nodes() {
  by_name_.resize(graph_.nodes.size());
  number_.resize(graph_.nodes.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  const auto name = [&](std::uint32_t i) -> const std::string& { return graph_.nodes[i].name; };
  PacedDeadline deadline;
  std::ranges::sort(by_name_, [&](std::uint32_t a, std::uint32_t b) {
    deadline();
    return name(a) < name(b);
  });
  for (std::uint32_t i = 0; i < size(); ++i) {
    number_[by_name_[i]] = i;
    check(i == 0 || name(by_name_[i - 1]) != name(by_name_[i]), ErrorCode::bad_data, "two nodes are named {}",
          quoted(node(i)));
  }
}

void SortedGraph::add_fetched() {
  for (const NodeOutput& output : graph_.fetched) {
    check(output.node < size(), ErrorCode::bad_data,
          "an output of node {} is fetched, the graph has {} nodes", output.node, size());
    fetched_.push_back({number_[output.node], output.output});
  }
  std::ranges::sort(fetched_);
}

std::span<const NodeOutput> SortedGraph::fetched(std::uint32_t number) const {
  const auto begin = std::ranges::lower_bound(fetched_, number, {}, &NodeOutput::node);
  const auto end = std::ranges::upper_bound(fetched_, number, {}, &NodeOutput::node);
  return {begin, end};
}

void SortedGraph::add_edges(std::uint32_t to) {
  const SegmenterNode& reader = node(to);
  const auto add = [&](std::uint32_t from, std::uint32_t output, bool data) {
    check(from < size(), ErrorCode::bad_data, "node {} reads node number {}, the graph has {} nodes",
          quoted(reader), from, size());
    if (begins_iteration(reader.op) && ends_iteration(graph_.nodes[from].op)) return;
    edges_.push_back({number_[from], to, output, data});
    has_control_edges_ |= !data;
  };
  for (const NodeOutput& input : reader.inputs) add(input.node, input.output, true);
  for (const std::uint32_t input : reader.control_inputs) add(input, 0, false);
}

void SortedGraph::index_edges() {
  const auto index = [&](auto end, auto other, CountedVector<std::uint32_t>& list,
                         CountedVector<std::uint32_t>& begin) {
    begin.assign(size() + 1, 0);
    for (const GraphEdge& edge : edges_) ++begin[edge.*end + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    CountedVector<std::uint32_t> at(begin.begin(), begin.end() - 1, begin.get_allocator());
    list.resize(edges_.size());
    for (std::uint32_t e = 0; e < edges_.size(); ++e) list[at[edges_[e].*end]++] = e;
    for (std::uint32_t i = 0; i < size(); ++i)
      std::sort(list.begin() + begin[i], list.begin() + begin[i + 1], [&](std::uint32_t a, std::uint32_t b) {
        return edges_[a].*other != edges_[b].*other ? edges_[a].*other < edges_[b].*other : a < b;
      });
  };
  check_deadline();
  index(&GraphEdge::from, &GraphEdge::to, out_, out_begin_);
  check_deadline();
  index(&GraphEdge::to, &GraphEdge::from, in_, in_begin_);
}

void SortedGraph::require_no_cycle() const {
  CountedVector<std::uint32_t> waiting(size()), ready;
  ready.reserve(size());
  for (std::uint32_t i = 0; i < size(); ++i) {
    waiting[i] = static_cast<std::uint32_t>(in(i).size());
    if (waiting[i] == 0) ready.push_back(i);
  }
  PacedDeadline deadline;
  for (std::size_t next = 0; next < ready.size(); ++next) {
    deadline();
    for (const std::uint32_t e : out(ready[next]))
      if (--waiting[edges_[e].to] == 0) ready.push_back(edges_[e].to);
  }
  if (ready.size() == size()) return;
  // Every waiting node reads one that waits too, so walking back ends in a cycle.
  const auto stuck = std::ranges::find_if(waiting, [](std::uint32_t count) { return count > 0; });
  CountedVector<std::uint32_t> path, place(size(), no_index);
  std::uint32_t at = static_cast<std::uint32_t>(stuck - waiting.begin());
  while (place[at] == no_index) {
    place[at] = static_cast<std::uint32_t>(path.size());
    path.push_back(at);
    for (const std::uint32_t e : in(at))
      if (waiting[edges_[e].from] > 0) {
        at = edges_[e].from;
        break;
      }
  }
  std::vector<std::string> names{quoted(node(at))};
  constexpr std::size_t most = 5;
  for (std::size_t i = path.size(); i-- > place[at] && names.size() < most;)
    names.push_back(quoted(node(path[i])));
  fail(ErrorCode::bad_data, "the graph has a cycle of {} nodes: {}{}", path.size() - place[at],
       joined(names, " -> "), path.size() - place[at] < most ? "" : " -> ...");
}

void SortedGraph::sort() {
  order_.reserve(size());
  CountedVector<std::uint8_t> entered(size(), 0);
  struct Visit {
    std::uint32_t node, left; ///< So many of its out edges are still to be followed, the last one first.
  };
  CountedVector<Visit> stack;
  PacedDeadline deadline;
  for (std::uint32_t root = size(); root-- > 0;) {
    if (!in(root).empty()) continue;
    entered[root] = 1;
    stack.push_back({root, static_cast<std::uint32_t>(out(root).size())});
    while (!stack.empty()) {
      deadline();
      Visit& visit = stack.back();
      if (visit.left == 0) {
        order_.push_back(visit.node);
        stack.pop_back();
        continue;
      }
      const std::uint32_t to = edges_[out(visit.node)[--visit.left]].to;
      if (entered[to]) continue;
      entered[to] = 1;
      stack.push_back({to, static_cast<std::uint32_t>(out(to).size())});
    }
  }
  position_.resize(size());
  for (std::uint32_t i = 0; i < size(); ++i) position_[order_[i]] = size() - 1 - i;
}

} // namespace lanner::tf
