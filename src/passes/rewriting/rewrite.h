#pragma once
// Helpers shared by passes: walking a graph, querying nodes, replacing them.

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// Calls `visit` with every region, inner ones first.
void for_each_region(Graph& graph, const std::function<void(Region&)>& visit);

/// Calls `rewrite` with every node in order, inner regions first, and returns whether any call returned true.
/// `rewrite` may erase the node it is given and those before it, and add nodes before it.
bool for_each_node(Graph& graph, const std::function<bool(Node&)>& rewrite);

/// Replaces the node's only result by `replacement` and removes the node. Nodes that lose their last use are
/// left to drop_dead_nodes.
void replace(Node& node, Value* replacement);

/// `to` gets the name of `from`, which is about to be removed.
void take_name(Value& to, Value& from);
/// Replaces the node's outputs by these values, one for each output; values that were created for it take
/// over the names. The node is removed.
void replace_by_copies(Node& node, std::span<Value* const> values);

/// The producer of `value` if it is of this operator and nothing else uses the value; else null.
Node* sole_producer(const Value* value, std::string_view kind);
/// The same, but other uses are allowed.
Node* producer(const Value* value, std::string_view kind);

/// A small host constant's elements as doubles, when `value` is a constant of reals or integers.
std::optional<std::vector<double>> constant_reals(const Value* value);
std::optional<std::vector<std::int64_t>> constant_integers(const Value* value);
/// The number that all elements of a constant equal.
std::optional<double> constant_scalar(const Value* value);

/// Removes the marked captures, whose parameters have no uses; the others keep their order.
void remove_captures(Node& node, const std::vector<bool>& marked);

/// Adds the sources of `from` that `to` lacks, up to some tens in all.
void take_sources(Node& to, const Node& from);

/// Inserts `kind(inputs)` before `before`, with one output and `before`'s sources.
Value* emit_before(Node& before, std::string_view kind, std::span<Value* const> inputs,
                   AttributeMap attributes, Type type);

/// A constant i64 vector before `before`: axes, pads, a target.
Value* integers_before(Node& before, const std::vector<std::int64_t>& values, std::string_view name);

} // namespace lanner::passes
