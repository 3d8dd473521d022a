#pragma once
// What the nodes and values of a lowered graph say, for those who make such graphs and those who run them.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "program/memory/caller_memory.h"

namespace lanner {

inline constexpr const char* interpreter_backend =
    "interpreter"; ///< Runs a node by its definition, shapes found as it runs.
inline constexpr const char* program_backend = "program"; ///< Runs a node's regions, which are lowered too.
inline constexpr const char* alias_backend = "alias"; ///< Output lies in the input's memory: nothing runs.

/// The tactic that a lowered node names, as its backend offers it today, or null when it offers it no more.
struct OfferedTactic {
  const Backend* backend = nullptr;
  Tactic tactic;
};
std::optional<OfferedTactic> find_offered(const Node& node, std::span<const Backend* const> backends,
                                          const Target& target);

/// The same kernel where the node's values lie within larger ones as this says, one for each; the lists may
/// be shorter. What may work in place does not then.
Tactic lying_as(Tactic tactic, std::span<const Within> inputs, std::span<const Within> outputs);
/// Whether a tactic asks for a value within a larger one.
bool lies_within(const Tactic& tactic);
/// Whether a tactic asks for no value within a larger one but those that its kernel takes so.
bool strided_as_it_says(const Tactic& tactic);

/// Whether a node's output may lie in its input's memory at no cost: a change of shape, a cast to the type
/// that the input is stored in, or a transpose whose output is stored in the order that the input has.
bool is_alias(const Node& node);
/// Storages of input 0 and output 0 under which the output of `node` holds the very bytes of its input: equal
/// row-major ones for a change of shape or such a cast, a permuted layout on either side for a transpose.
/// Empty for any other node.
std::vector<std::pair<Storage, Storage>> alias_storages(const Node& node, const Storage& plain);

/// Place of each node of a graph's body.
std::map<const Node*, std::size_t> execution_order(const Graph& graph);
/// Whether a kernel may overwrite input `i` of `node`: nothing reads it later and it is memory of our own, or
/// an input that callers let be overwritten.
bool may_overwrite(const Node& node, std::size_t i, const std::map<const Node*, std::size_t>& order,
                   const CallerMemory& callers = {});
/// The same of nodes that run as one at the place of the last.
bool may_overwrite(const Value& value, std::span<const Node* const> readers,
                   const std::map<const Node*, std::size_t>& order, const CallerMemory& callers = {});
/// The output of a graph that a value is, itself or by views of it; null where it is none.
std::optional<std::size_t> output_number(const Value& value);

bool same_storage(const Type& type, const Storage& a, const Storage& b);

/// What a node does as people are told it: of a fused one, what was fused.
std::string shown_kind(const Node& node);
/// Whether a value is plain memory of a size known before running.
bool is_planned(const Value& value);
/// Whether all that it reads and writes is.
bool is_planned(const Node& node);
/// Bytes of a planned value in its storage, with what lies between its slices.
std::uint64_t storage_bytes(const Value& value);
/// Bytes that it would take in another.
std::uint64_t storage_bytes(const Value& value, const Storage& storage);

} // namespace lanner
