#include "tf/segment/clusters.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lanner::tf {
namespace {

/// Whether the two agree, where an open value agrees with any.
bool agree(const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
  return !a || !b || *a == *b;
}

std::optional<Agreement> merged(const Agreement& a, const Agreement& b) {
  const auto device = tf::merged(a.device, b.device);
  if (!device || !agree(a.batch, b.batch) || !agree(a.max_batch, b.max_batch)) return std::nullopt;
  return Agreement{a.batch ? a.batch : b.batch, a.max_batch ? a.max_batch : b.max_batch, *device};
}

} // namespace

Clusters::EdgeLists::EdgeLists(std::uint32_t nodes, std::size_t edges)
    : head(nodes, no_index), tail(nodes, no_index), next(edges, no_index), scanned(nodes, 0),
      first(nodes, no_index) {}

void Clusters::EdgeLists::append(std::uint32_t cluster, std::uint32_t edge) {
  next[edge] = no_index;
  (head[cluster] == no_index ? head[cluster] : next[tail[cluster]]) = edge;
  tail[cluster] = edge;
}

void Clusters::EdgeLists::join(std::uint32_t into, std::uint32_t from) {
  if (head[from] == no_index) return;
  (head[into] == no_index ? head[into] : next[tail[into]]) = head[from];
  tail[into] = tail[from];
  head[from] = tail[from] = no_index;
}

void Clusters::EdgeLists::remove(std::uint32_t cluster, std::uint32_t edge, std::uint32_t before) {
  (before == no_index ? head[cluster] : next[before]) = next[edge];
  if (tail[cluster] == edge) tail[cluster] = before;
}

Clusters::Walk::Walk(EdgeLists& edge_lists, std::uint32_t GraphEdge::*other, std::uint32_t nodes)
    : lists(&edge_lists), end(other), seen(nodes, 0), from(nodes, no_index) {}

void Clusters::Walk::start(std::uint32_t cluster, std::uint64_t search) {
  queue.assign(1, cluster);
  next = 0;
  edge = before = at = no_index;
  seen[cluster] = search;
  from[cluster] = no_index;
}

Clusters::Clusters(const SortedGraph& graph, const CountedVector<std::uint8_t>& candidates)
    : graph_(graph), candidates_(candidates), edges_(graph.edges()), parent_(graph.size()),
      members_(graph.size(), 1), out_(graph.size(), edges_.size()), in_(graph.size(), edges_.size()),
      forward_(out_, &GraphEdge::to, graph.size()), backward_(in_, &GraphEdge::from, graph.size()),
      refused_(graph.size(), 0), after_(graph.size(), no_index), before_(graph.size(), no_index) {
  std::iota(parent_.begin(), parent_.end(), 0u);
  DeviceNames devices;
  agreements_.reserve(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const SegmenterNode& node = graph.node(i);
    agreements_.push_back({node.batch, node.max_batch, devices.place(node.device)});
  }
}

std::uint32_t Clusters::cluster(std::uint32_t node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void Clusters::unite(std::uint32_t a, std::uint32_t b) {
  if (members_[a] < members_[b]) std::swap(a, b);
  parent_[b] = a;
  members_[a] += members_[b];
  agreements_[a] = *merged(agreements_[a], agreements_[b]);
  out_.join(a, b);
  in_.join(a, b);
  if (after_[a] == no_index) after_[a] = after_[b];
  if (before_[a] == no_index) before_[a] = before_[b];
}

/// Whether what is known of the cluster `at` is this other one.
bool Clusters::is(std::uint32_t known, std::uint32_t other, std::uint32_t at) {
  return known != no_index && at != other && cluster(known) == other;
}

/// Every cluster on the way that the walk took to `at` reaches the target.
void Clusters::remember(const Walk& walk, std::uint32_t at, std::uint32_t target) {
  for (; at != no_index; at = walk.from[at])
    if (at != target) after_[at] = target;
}

Clusters::Step Clusters::step(Walk& walk, const Walk& opposite, std::uint32_t start, std::uint32_t target) {
  deadline_();
  if (walk.edge == no_index) {
    if (walk.next == walk.queue.size()) return Step::end;
    walk.at = walk.queue[walk.next++];
    walk.edge = walk.lists->head[walk.at];
    walk.before = no_index;
    ++walk.lists->scans;
    return Step::more;
  }
  EdgeLists& lists = *walk.lists;
  const std::uint32_t edge = walk.edge, other = cluster(edges_[edge].*walk.end);
  walk.edge = lists.next[edge];
  if (other == walk.at || lists.scanned[other] == lists.scans) {
    if (other != walk.at) edges_[lists.first[other]].data |= edges_[edge].data;
    lists.remove(walk.at, edge, walk.before);
    return Step::more;
  }
  lists.scanned[other] = lists.scans;
  lists.first[other] = edge;
  walk.before = edge;
  const bool direct = (walk.at == start && other == target) || (walk.at == target && other == start);
  if (direct || walk.seen[other] == search_) return Step::more;
  const bool forward = &walk == &forward_;
  // What comes after the target does not lead to it, and what comes before the start is not reached from it.
  if (forward ? is(before_[other], target, other) : is(after_[other], start, other)) return Step::more;
  walk.seen[other] = search_;
  walk.from[other] = walk.at;
  walk.queue.push_back(other);
  walk.last = other;
  const bool known = forward && is(after_[other], target, other);
  return known || opposite.seen[other] == search_ ? Step::met : Step::more;
}

/// Both ends are searched from in turn, an edge each, so the shorter search decides.
bool Clusters::path_through_third(std::uint32_t from, std::uint32_t to) {
  ++search_;
  forward_.start(from, search_);
  backward_.start(to, search_);
  while (true) {
    for (Walk* walk : {&forward_, &backward_}) {
      const Step result = step(*walk, walk == &forward_ ? backward_ : forward_, from, to);
      if (result == Step::end) return false;
      if (result == Step::more) continue;
      remember(forward_, walk->last, to);
      if (backward_.seen[walk->last] == search_) remember(backward_, walk->last, to);
      return true;
    }
  }
}

/// Where they may be joined, what the search came across is known to come after them or before them: so no
/// later search that ends at them goes that way again.
bool Clusters::join_if_possible(std::uint32_t a, std::uint32_t b) {
  if (!merged(agreements_[a], agreements_[b]) || path_through_third(a, b)) return false;
  for (const std::uint32_t after : forward_.queue) before_[after] = a;
  for (const std::uint32_t before : backward_.queue) after_[before] = b;
  unite(a, b);
  return true;
}

/// Whether something was joined. A cluster that is refused is not asked again for each of its nodes.
bool Clusters::join_with(std::uint32_t node, const CountedVector<std::uint32_t>& consumers) {
  bool joined = false;
  ++round_;
  for (const std::uint32_t to : consumers) {
    deadline_();
    const std::uint32_t own = cluster(node), other = cluster(to);
    if (own == other || refused_[other] == round_) continue;
    if (join_if_possible(own, other))
      joined = true;
    else
      refused_[other] = round_;
  }
  return joined;
}

void Clusters::join_with_consumers(std::uint32_t node) {
  CountedVector<std::uint32_t> consumers;
  for (const std::uint32_t edge : graph_.out(node))
    if (edges_[edge].data && candidates_[edges_[edge].to]) consumers.push_back(edges_[edge].to);
  if (!join_with(node, consumers) || !graph_.has_control_edges()) return;
  // Names decide between consumers that contradict each other. Those that only a control edge kept apart are
  // joined quickest in topological order.
  std::ranges::sort(consumers, {}, [&](std::uint32_t i) { return graph_.position()[i]; });
  while (join_with(node, consumers)) {
  }
}

/// Where control edges kept clusters apart, later joins may have removed the reason.
bool Clusters::join_again() {
  bool joined = false;
  CountedVector<std::uint32_t> consumers;
  for (const std::uint32_t node : graph_.consumers_first()) {
    if (!candidates_[node] || cluster(node) != node) continue;
    consumers.clear();
    for (std::uint32_t edge = out_.head[node]; edge != no_index; edge = out_.next[edge]) {
      deadline_();
      if (edges_[edge].data && candidates_[edges_[edge].to]) consumers.push_back(edges_[edge].to);
    }
    std::ranges::sort(consumers, {}, [&](std::uint32_t i) { return graph_.position()[i]; });
    joined |= join_with(node, consumers);
  }
  return joined;
}

void Clusters::join() {
  // Without control edges one pass is enough: of the clusters that are joined with a node none reaches
  // another, or the two could have been joined before.
  for (const std::uint32_t node : graph_.consumers_first()) {
    deadline_();
    for (const std::uint32_t edge : graph_.out(node)) {
      out_.append(node, edge);
      in_.append(cluster(edges_[edge].to), edge);
    }
    if (candidates_[node]) join_with_consumers(node);
  }
  if (graph_.has_control_edges())
    while (join_again()) {
    }
}

} // namespace lanner::tf
