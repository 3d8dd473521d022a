#pragma once
// Queries on a flat graph: who makes a value, and what is computed from constants alone.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"
#include "tf/segment/segmenter.h"

namespace lanner::tf {

/// Refers to the nodes, which are in topological order and outlive it.
class FlatIndex {
public:
  explicit FlatIndex(const std::vector<ImportNode>& nodes);

  /// The node and output that make a value; null for an input of the graph.
  const NodeOutput* maker(std::string_view value) const;
  /// Whether the node is a constant, or computes the same in every run from constants. Such nodes belong to
  /// whatever reads them.
  bool is_constant(std::uint32_t node) const { return constant_[node]; }
  bool is_constant(std::string_view value) const;
  /// Adds the constant nodes that `nodes` read, and those that these read.
  void add_constants(std::set<std::uint32_t>& nodes) const;

private:
  const std::vector<ImportNode>& nodes_;
  std::map<std::string_view, NodeOutput> makers_;
  std::vector<bool> constant_;
};

} // namespace lanner::tf
