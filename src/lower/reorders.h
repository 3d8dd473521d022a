#pragma once
// Moving values from one storage to another.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "lower/alternatives.h"
#include "lower/options.h"

namespace lanner {

/// A graph of one reorder node.
std::unique_ptr<Graph> reorder_graph(const OpTable& ops, const Type& type, const Storage& from,
                                     const Storage& to);

/// Seconds that moving a value of `type` from one storage to another takes; 0 when they are equal.
class ReorderCosts {
public:
  ReorderCosts(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}
  double operator()(const Type& type, const Storage& from, const Storage& to);
  /// Of a graph's input whose storage is settled, to a reader.
  double from_caller(const Value& input, const Storage& to) { return (*this)(input.type, input.storage, to); }
  /// Of what leaves the graph, to all outputs that it is.
  double to_caller(const Value& output, const Storage& from);

private:
  const Graph& graph_;
  const LowerOptions& options_;
  std::map<std::string, double> known_;
};

/// Between devices only whole values of one form move: what lies between two storages that differ in more
/// than their device. Equal to one of them where they do not.
Storage staging(const Type& type, const Storage& from, const Storage& to);

/// The fastest tactic of a reorder node whose input and output storages are set; null tactic list gives
/// nothing.
std::optional<Alternative> best_reorder(const Node& reorder, const LowerOptions& options);
/// The same of those that are right, for a reorder that is to run.
std::optional<Alternative> vetted_reorder(const Node& reorder, const LowerOptions& options);

} // namespace lanner
