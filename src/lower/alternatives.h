#pragma once
// The alternatives of each node of a graph that is being lowered.

#include <map>
#include <utility>
#include <vector>

#include "lower/options.h"

namespace lanner {

/// One way of running a node and what it costs.
struct Alternative {
  const Backend* backend = nullptr; ///< Null: alias or interpreter.
  Tactic tactic;                    ///< Storages of inputs and outputs are complete.
  Cost cost;
};

struct NodeAlternatives {
  Node* node = nullptr;
  std::vector<Alternative> list; ///< Never empty.
  std::vector<std::string> notes;
  std::vector<Alternative> reserve =
      {}; ///< For when the list runs out: what stands beside a choice taken over.
};

/// What is offered at once for every node but constants, by estimates; takes fused bodies apart and expands
/// operators where no backend takes the whole. Changes the graph by that only. In execution order.
std::vector<NodeAlternatives> offered_alternatives(Graph& graph, const LowerOptions& options);
/// The same, timed as far as the budget goes, with what is found by a search, and without what is wrong.
std::vector<NodeAlternatives> collect_alternatives(Graph& graph, const LowerOptions& options);

/// What a backend offers for a node that its kernels can reach; `more`: what it finds by a search.
TacticList reachable_tactics(const Backend& backend, const Node& node, const Target& target,
                             bool more = false);
/// A graph of one reorder node.
std::unique_ptr<Graph> reorder_graph(const OpTable& ops, const Type& type, const Storage& from,
                                     const Storage& to);

/// Seconds that moving a value of `type` from one storage to another takes; 0 when they are equal.
class ReorderCosts {
public:
  ReorderCosts(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}
  double operator()(const Type& type, const Storage& from, const Storage& to);
  /// Of a graph input or output, as callers hold it.
  double from_caller(const Type& type, const Storage& to) {
    return (*this)(type, options_.target.storage(), to);
  }
  double to_caller(const Type& type, const Storage& from) {
    return (*this)(type, from, options_.target.storage());
  }

private:
  const Graph& graph_;
  const LowerOptions& options_;
  std::map<std::string, double> known_;
};

/// Between devices only whole values of one form move: what lies between two storages that differ in more
/// than their device. Equal to one of them where they do not.
Storage on_the_way(const Type& type, const Storage& from, const Storage& to);

/// The fastest tactic of a reorder node whose input and output storages are set; null tactic list gives
/// nothing.
std::optional<Alternative> best_reorder(const Node& reorder, const LowerOptions& options);
/// The same of those that are right, for a reorder that is to run.
std::optional<Alternative> vetted_reorder(const Node& reorder, const LowerOptions& options);

/// Takes alternative `index` out, which must not be taken, and notes why. Where no other is left the node
/// runs by its definition.
void reject(NodeAlternatives& entry, std::size_t index, const std::string& wrong,
            const LowerOptions& options);

} // namespace lanner
