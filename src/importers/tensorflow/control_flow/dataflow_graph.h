#pragma once
// Nodes and references of one graph while its control flow is structured.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "importers/import_graph.h"
#include "importers/tensorflow/node_references.h"

namespace lanner::tensorflow {

enum class DataflowOp : std::uint8_t { none, switch_op, merge, enter, exit, next_iteration, loop_cond };
/// Of the operators of control flow; those on variables count as the others.
DataflowOp dataflow_op(const ImportNode& node);

/// Whether a node (or null) is a constant such as axes and sizes, which rules want to know: a branch or a
/// loop has its own, as an outer value is not known there.
bool is_small_constant(const ImportNode* node);

/// An input of a node.
struct DataflowInput {
  std::string node;
  std::int64_t result = 0;
  bool control = false;
};
/// Of an input in the form of graphs, `node:1` or `^node`.
DataflowInput parsed_input(std::string_view reference);

/// One level of a graph: the nodes by name, which are unique in the whole file.
class DataflowGraph {
public:
  DataflowGraph(std::vector<ImportNode> nodes, const FunctionOutputs& functions);

  ImportNode* find(std::string_view name);
  const std::vector<std::string>& order() const noexcept { return order_; }
  const FunctionOutputs& functions() const noexcept { return functions_; }
  void add(ImportNode node);
  /// A name that no node has.
  std::string unique_name(std::string stem) const;

  /// Counts a node that becomes part of an inner graph, a few times for each at most.
  void count_copy();

private:
  std::map<std::string, ImportNode, std::less<>> nodes_;
  std::vector<std::string> order_;
  const FunctionOutputs& functions_;
  std::size_t copies_ = 0;
};

/// The inner graph of these nodes and results, as the builder reads it: without nodes that no result needs.
std::shared_ptr<ImportGraph> inner_graph(std::string name, std::vector<std::string> inputs,
                                         std::vector<ImportNode> nodes, std::vector<std::string> results,
                                         const FunctionOutputs& functions);

/// Names that the graph reads and that are neither its inputs nor its nodes' outputs.
std::set<std::string> outer_names(const ImportGraph& graph);

/// A node that gives its inputs.
ImportNode passing(std::string name, std::vector<std::string> inputs);

/// Replaces the conditionals of nodes without loops. Throws Error{unsupported} with the reason where it
/// cannot.
std::vector<ImportNode> without_conditionals(std::vector<ImportNode> nodes, const FunctionOutputs& functions);

/// Replaces the frames. Nodes that are part of one are removed. Throws Error{unsupported} likewise.
std::vector<ImportNode> without_frames(std::vector<ImportNode> nodes, const FunctionOutputs& functions);

} // namespace lanner::tensorflow
