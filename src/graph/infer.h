#pragma once
// Shape and type inference over a graph and over single nodes.

#include <map>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace lanner {

/// Sets the type of every value from the inputs' types and the constants, regions included. A value that
/// already has a more exact compatible type keeps the exact parts; a contradiction is an Error that names the
/// node.
void infer_types(Graph& graph);

/// Types of one node's outputs for concrete input tensors (null: absent; a sequence input gives its item).
/// Dims that only the kernel computes stay symbolic.
std::vector<Type> infer_node(const Node& node, std::span<const Item* const> inputs);

/// Whether the types of a node's outputs follow from its inputs' types and constants. Kernels rely on sizes;
/// a model may also declare one that depends on data, and be wrong.
bool types_follow(const Node& node);

/// Infers node by node while a graph is being made, so that the code that makes it can look at types.
class RunningInference {
public:
  explicit RunningInference(Graph& graph);
  ~RunningInference();
  /// Takes the type of a parameter as it is.
  void declare(const Value& parameter);
  /// Sets the types of the node's outputs, whatever they were, and of its regions' values. Its inputs were
  /// declared or added before. An error does not name the node: the caller has a better name than the label.
  void add(Node& node);
  const Known& known(const Value* value) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Infers a graph, and then nodes that are added to it: inferring the whole graph for each would take
/// quadratic time.
class AddedInference {
public:
  /// As infer_types(). `graph` must outlive it.
  explicit AddedInference(Graph& graph);
  ~AddedInference();
  /// Sets the types of these new nodes: each reads existing values or earlier new ones. Existing values that
  /// read new nodes do not change.
  void add(std::span<Node* const> nodes);

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What is known of `value` before running (constants, shapes of static tensors and arithmetic on them).
class KnownValues {
public:
  explicit KnownValues(Graph& graph);
  ~KnownValues();
  const Known& of(const Value* value) const;

private:
  std::map<const Value*, Known> known_;
};

} // namespace lanner
