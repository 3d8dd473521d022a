#pragma once
// What passes have in common: walking a graph, asking after nodes, putting one thing in another's place.

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

/// The node's only result takes `replacement`; the node goes. Whatever lost its last use stays for
/// drop_dead_nodes.
void replace(Node& node, Value* replacement);

/// `to` gets the name of `from`, which is about to go.
void take_name(Value& to, Value& from);
/// What the node gave is what these values are, one for each output; those that were made for it take over
/// the names. The node goes.
void replace_by_copies(Node& node, std::span<Value* const> values);

/// The producer of `value` if it is of this operator and nothing else uses the value; else null.
Node* sole_producer(const Value* value, std::string_view kind);
/// Likewise, whoever else uses it.
Node* producer(const Value* value, std::string_view kind);

/// A small host constant's elements as doubles, when `value` is a constant of reals or integers.
std::optional<std::vector<double>> constant_reals(const Value* value);
std::optional<std::vector<std::int64_t>> constant_integers(const Value* value);
/// The one number that all elements of a constant are.
std::optional<double> constant_scalar(const Value* value);

/// Takes the captures out that are marked, whose parameters nothing uses; the others keep their order.
void remove_captures(Node& node, const std::vector<bool>& marked);

/// Adds the sources of `from` that `to` does not have, up to some tens in all.
void take_sources(Node& to, const Node& from);

/// `kind(inputs)` before `before`, with one output, which takes over `before`'s sources.
Value* emit_before(Node& before, std::string_view kind, std::span<Value* const> inputs,
                   AttributeMap attributes, Type type);

/// A constant i64 vector before `before`: axes, pads, a target.
Value* integers_before(Node& before, const std::vector<std::int64_t>& values, std::string_view name);

} // namespace lanner::passes
