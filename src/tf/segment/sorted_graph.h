#pragma once
// A graph with its nodes numbered in the order of their names, so that nothing that is decided by number
// depends on the order in which the nodes were given.

#include <cstdint>
#include <span>

#include "base/limits/counted_vector.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {

inline constexpr std::uint32_t no_index = 0xffffffff;

/// From one number to another.
struct GraphEdge {
  std::uint32_t from = 0, to = 0;
  std::uint32_t output = 0; ///< The number of the output that is read, for a data edge.
  bool data = true;         ///< Otherwise a control edge.
};

class SortedGraph {
public:
  /// `graph` must outlive it. Throws Error{bad_data} as segment_graph() does.
  explicit SortedGraph(const SegmenterGraph& graph);

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(by_name_.size()); }
  /// Index in the graph of the node with this number, and the reverse.
  std::uint32_t index_of(std::uint32_t number) const { return by_name_[number]; }
  std::uint32_t number_of(std::uint32_t index) const { return number_[index]; }
  const SegmenterNode& node(std::uint32_t number) const { return graph_.nodes[by_name_[number]]; }
  bool is_constant(std::uint32_t number) const { return node(number).op == "Const"; }

  const CountedVector<GraphEdge>& edges() const noexcept { return edges_; }
  /// Positions in edges(), by the number of the node at the other end.
  std::span<const std::uint32_t> out(std::uint32_t number) const { return row(out_, out_begin_, number); }
  std::span<const std::uint32_t> in(std::uint32_t number) const { return row(in_, in_begin_, number); }
  bool has_control_edges() const noexcept { return has_control_edges_; }
  /// The node's outputs that are read from outside of the graph, with its number as their node.
  std::span<const NodeOutput> fetched(std::uint32_t number) const;

  /// Every node after all that follow it: depth first, neighbours by name.
  const CountedVector<std::uint32_t>& consumers_first() const noexcept { return order_; }
  /// The position of each node in the reverse of consumers_first(): a topological order.
  const CountedVector<std::uint32_t>& position() const noexcept { return position_; }

private:
  static std::span<const std::uint32_t> row(const CountedVector<std::uint32_t>& list,
                                            const CountedVector<std::uint32_t>& begin, std::uint32_t number) {
    return std::span(list).subspan(begin[number], begin[number + 1] - begin[number]);
  }
  void number_nodes();
  void add_fetched();
  void add_edges(std::uint32_t to);
  void index_edges();
  void require_no_cycle() const;
  void sort();

  const SegmenterGraph& graph_;
  CountedVector<std::uint32_t> by_name_, number_;
  CountedVector<GraphEdge> edges_;
  CountedVector<std::uint32_t> out_, out_begin_, in_, in_begin_;
  CountedVector<NodeOutput> fetched_;
  CountedVector<std::uint32_t> order_, position_;
  bool has_control_edges_ = false;
};

/// Whether the node ends or begins an iteration of a loop of TensorFlow 1.
bool ends_iteration(std::string_view op);
bool begins_iteration(std::string_view op);

} // namespace lanner::tf
