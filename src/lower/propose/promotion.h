#pragma once
// 16-bit reals (f16, bf16) on devices whose kernels compute in f32.

#include <map>
#include <memory>

#include "graph/graph.h"
#include "lower/options.h"

namespace lanner {

/// The same network with f16 and bf16 as f32, node by node: the nodes that kernels are asked for where values
/// are stored wider than in the model. Results are then rounded only where a reader, the model's interface or
/// an explicit cast needs the narrow type. Never run or checked as a whole.
class Promotion {
public:
  /// Null where the graph, of static types, has no such values, and for GPUs, which compute on 16-bit values
  /// directly, with sums in f32.
  static std::unique_ptr<Promotion> of(const Graph& graph, const LowerOptions& options);

  Graph& graph() const noexcept { return *graph_; }
  std::shared_ptr<Graph> shared_graph() const noexcept { return graph_; }
  /// The counterpart of `node` with promoted types; null where its operator does not mean the same in f32, or
  /// where it has no such values. Nodes added to the graph later are followed, inputs first.
  Node* promoted(Node& node);
  /// Call before a node is erased, since another may be allocated at its address.
  void forget(const Node& node);
  /// The original node of a node of graph().
  Node* original(const Node& node) const { return originals_.at(&node); }

private:
  explicit Promotion(const LowerOptions& options) : options_(options) {}
  void follow(Node& node);
  Value* counterpart(const Value& value);
  void leave(const Value& value);
  void follow_constant(const Node& node);

  const LowerOptions& options_;
  std::shared_ptr<Graph> graph_;
  std::map<const Value*, Value*> values_;
  std::map<const Node*, Node*> nodes_; ///< By node of the network: its own in graph_, if it has one.
  std::map<const Node*, Node*> originals_;
};

} // namespace lanner
