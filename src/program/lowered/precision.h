#pragma once
// Applies the precision policy to nodes and their kernels.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Throws Error{invalid_argument} for types without kernels, more pins than a plan may hold, and an empty
/// list of types.
void check_precision(const Precision& precision);
/// Throws Error{invalid_argument} for a pin that matches no node of the graph, regions included.
void check_pins(const Graph& graph, const Precision& precision);

/// The type with the smallest range of f16 and bf16 that the policy allows or a pin names.
std::optional<DType> narrowest_half(const Precision& precision);

/// `target` restricted to these nodes where they run as one: a pin leaves only its type, and the device is
/// that of their placement. Nothing where their pins or placements differ.
std::optional<Target> target_for(std::span<const Node* const> nodes, const Target& target);
/// Whether a tactic of `node` uses only the types of `own`, the result of target_for().
bool keeps(const Tactic& tactic, const Node& node, const Target& own);

/// One line for each type of the policy other than f32 that no kernel of the lowered graph computes in, and
/// for each pin that some kernel does not follow.
std::vector<std::string> unused_precisions(const Graph& lowered, const Target& target);
/// Throws Error{unsupported} where a kernel computes in another type than a strict policy says.
void check_strict(const Graph& lowered, const Target& target);

} // namespace lanner
