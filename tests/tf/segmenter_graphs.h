#pragma once
// Graphs for tests of the segmenter, and its rules checked by brute force.

#include <initializer_list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tf/segment/segmenter.h"

namespace lanner::test {

/// A graph whose nodes name their inputs: `a`, `a:1`, `^a` (a control input).
class SegmenterGraphText {
public:
  tf::SegmenterNode& add(const std::string& name, const std::vector<std::string>& inputs,
                         const std::string& op = "Add");
  /// A node that stays native.
  tf::SegmenterNode& native(const std::string& name, const std::vector<std::string>& inputs,
                            const std::string& op = "Placeholder");
  tf::SegmenterNode& node(const std::string& name) { return graph.nodes[index.at(name)]; }
  void fetch(const std::string& tensor);
  /// Every output 0 that nothing reads.
  void fetch_unread();

  tf::SegmenterGraph graph;
  std::map<std::string, std::uint32_t> index;
};

/// The segments as sets of names, without constants that were copied in.
using NamedSegments = std::vector<std::set<std::string>>;
NamedSegments names_of(const tf::SegmenterGraph& graph, const tf::Segmentation& segmentation);

/// The same graph with its nodes in another order.
tf::SegmenterGraph shuffled(const tf::SegmenterGraph& graph, std::mt19937& random);

/// Whether the graph with each segment as one node has a cycle. Segments are given as a number for each node;
/// -1: native.
bool has_cycle(const tf::SegmenterGraph& graph, const std::vector<int>& segment);

/// A number for each node by its place in `segments`; -1: in none.
std::vector<int> numbered(const tf::SegmenterGraph& graph, const tf::Segmentation& segmentation);

} // namespace lanner::test
