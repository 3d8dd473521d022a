#pragma once
// Clusters of nodes, joined along data edges as long as the graph of clusters has no cycle.

#include <cstdint>
#include <optional>

#include "base/limits/counted_vector.h"
#include "base/limits/paced_deadline.h"
#include "tf/segment/device_names.h"
#include "tf/segment/sorted_graph.h"

namespace lanner::tf {

/// What the nodes of a cluster agree on.
struct Agreement {
  std::optional<std::int64_t> batch, max_batch;
  DevicePlace device;
};

/// The clusters of a graph. Each node that is no candidate remains alone.
class Clusters {
public:
  /// `candidates` has an element for each node, by number. Both must outlive it.
  Clusters(const SortedGraph& graph, const CountedVector<std::uint8_t>& candidates);

  /// Joins clusters until no two that share a data edge could be joined: whatever can be joined with a
  /// consumer is, consumers first. A pair is refused if it disagrees, or if a path between the two leads
  /// through a third cluster.
  void join();

  /// A number that the nodes of one cluster share.
  std::uint32_t cluster(std::uint32_t node);

private:
  /// Edges of each cluster as lists that are joined in constant time: an edge inside of a cluster, or with
  /// the same ends as one before, is taken out when a search comes across it.
  struct EdgeLists {
    CountedVector<std::uint32_t> head, tail, next;
    CountedVector<std::uint64_t> scanned; ///< By cluster: the scan that last came across it,
    CountedVector<std::uint32_t> first;   ///< and the edge at which it did.
    std::uint64_t scans = 0;

    EdgeLists(std::uint32_t nodes, std::size_t edges);
    void append(std::uint32_t cluster, std::uint32_t edge);
    void join(std::uint32_t into, std::uint32_t from);
    void remove(std::uint32_t cluster, std::uint32_t edge, std::uint32_t before);
  };
  enum class Step { more, end, met };
  /// A search from one cluster along its edges, breadth first, an edge at a time.
  struct Walk {
    EdgeLists* lists;
    std::uint32_t GraphEdge::*end; ///< The end of an edge that the walk goes to.
    CountedVector<std::uint64_t> seen;
    CountedVector<std::uint32_t> from, queue;
    std::size_t next = 0;
    std::uint32_t edge = no_index, before = no_index, at = no_index, last = no_index;

    Walk(EdgeLists& edge_lists, std::uint32_t GraphEdge::*other, std::uint32_t nodes);
    void start(std::uint32_t cluster, std::uint64_t search);
  };

  bool join_with(std::uint32_t node, const CountedVector<std::uint32_t>& consumers);
  void join_with_consumers(std::uint32_t node);
  bool join_again();
  bool join_if_possible(std::uint32_t a, std::uint32_t b);
  void unite(std::uint32_t a, std::uint32_t b);
  bool path_through_third(std::uint32_t from, std::uint32_t to);
  Step step(Walk& walk, const Walk& opposite, std::uint32_t start, std::uint32_t target);
  bool is(std::uint32_t known, std::uint32_t other, std::uint32_t at);
  void remember(const Walk& walk, std::uint32_t at, std::uint32_t target);

  const SortedGraph& graph_;
  const CountedVector<std::uint8_t>& candidates_;
  CountedVector<GraphEdge> edges_; ///< `data` also where an edge that was taken out for it was one.
  CountedVector<std::uint32_t> parent_, members_;
  CountedVector<Agreement> agreements_;
  EdgeLists out_, in_;
  Walk forward_, backward_;
  std::uint64_t search_ = 0, round_ = 0;
  CountedVector<std::uint64_t> refused_; ///< The round in which a cluster was refused last.
  /// A cluster that is known to come after each, and one before it; no_index where none is known.
  CountedVector<std::uint32_t> after_, before_;
  PacedDeadline deadline_;
};

} // namespace lanner::tf
