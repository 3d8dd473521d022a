#pragma once
// Helpers for nodes and values of a lowered graph, shared by lowering and execution.

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
    "interpreter"; ///< Runs a node by its definition; shapes are inferred during the run.
inline constexpr const char* program_backend = "program"; ///< Runs a node's regions, which are lowered too.
inline constexpr const char* alias_backend = "alias"; ///< The output is a view of the input: nothing runs.

/// The tactic that a lowered node names, as its backend offers it now; null when it does not any more.
struct OfferedTactic {
  const Backend* backend = nullptr;
  Tactic tactic;
};
std::optional<OfferedTactic> find_offered(const Node& node, std::span<const Backend* const> backends,
                                          const Target& target);

/// The same kernel for values that are parts of larger ones, one `Within` for each value; the lists may be
/// shorter. It does not work in place then.
Tactic lying_as(Tactic tactic, std::span<const Within> inputs, std::span<const Within> outputs);
/// Whether a tactic has a value that is part of a larger one.
bool lies_within(const Tactic& tactic);
/// Whether all parts of larger values in a tactic are supported by its kernel.
bool strided_as_it_says(const Tactic& tactic);

/// Whether a node's output may be a view of its input's memory: a change of shape, a cast to the type
/// that the input is stored in, or a transpose whose output is stored in the order that the input has.
bool is_alias(const Node& node);
/// Storages of input 0 and output 0 for which the output of `node` has exactly the bytes of its input: equal
/// row-major ones for a change of shape or such a cast, a permuted layout on either side for a transpose.
/// Empty for any other node.
std::vector<std::pair<Storage, Storage>> alias_storages(const Node& node, const Storage& plain);

/// Position of each node of a graph's body.
std::map<const Node*, std::size_t> execution_order(const Graph& graph);
/// Whether a kernel may overwrite input `i` of `node`: nothing reads it later and it is the program's own
/// memory, or an input that callers allow to be overwritten.
bool may_overwrite(const Node& node, std::size_t i, const std::map<const Node*, std::size_t>& order,
                   const CallerMemory& callers = {});
/// The same for nodes that run as one in the position of the last.
bool may_overwrite(const Value& value, std::span<const Node* const> readers,
                   const std::map<const Node*, std::size_t>& order, const CallerMemory& callers = {});
/// The number of the graph output that a value is, directly or through views; nothing where it is none.
std::optional<std::size_t> output_number(const Value& value);

bool same_storage(const Type& type, const Storage& a, const Storage& b);

/// Operator of a node as shown to users; for a fused node its members.
std::string shown_kind(const Node& node);
/// Whether a value is plain memory of static size.
bool is_planned(const Value& value);
/// Whether all values that it reads and writes are planned.
bool is_planned(const Node& node);
/// Bytes of a planned value in its storage, gaps between its slices included.
std::uint64_t storage_bytes(const Value& value);
/// Bytes of the value in another storage.
std::uint64_t storage_bytes(const Value& value, const Storage& storage);

} // namespace lanner
