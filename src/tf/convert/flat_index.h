#pragma once
// Queries on a flat graph: who makes a value, and what is computed from constants alone.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {

/// Refers to the nodes' memory, which outlives it; they are in topological order.
class FlatIndex {
public:
  /// Nodes in `unconverted` are no constants.
  explicit FlatIndex(std::span<const ImportNode> nodes,
                     const std::map<std::string, std::string, std::less<>>& unconverted = {});

  /// The node and output that make a value; null for an input of the graph.
  const NodeOutput* maker(std::string_view value) const;
  /// The nodes that read a value.
  std::span<const std::uint32_t> readers(std::string_view value) const;
  /// Whether the node is a constant, or computes the same in every run from constants. Such nodes belong to
  /// whatever reads them.
  bool is_constant(std::uint32_t node) const { return constant_[node]; }
  bool is_constant(std::string_view value) const;
  /// Adds the constant nodes that `nodes` read, and those that these read.
  void add_constants(std::set<std::uint32_t>& nodes) const;

private:
  std::span<const ImportNode> nodes_;
  std::map<std::string_view, NodeOutput> makers_;
  std::map<std::string_view, std::vector<std::uint32_t>> readers_;
  std::vector<bool> constant_;
};

} // namespace lanner::tf
