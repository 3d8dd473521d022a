#pragma once
// What a precision policy means for nodes and their kernels.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// Throws Error{invalid_argument} for types that kernels know nothing of, more pins than a plan may hold, and
/// no type at all.
void check_precision(const Precision& precision);
/// Throws Error{invalid_argument} for a pin that no node of the graph, subprograms included, answers to.
void check_pins(const Graph& graph, const Precision& precision);

/// `target` as it is for these nodes where they run as one: a pin leaves its type alone, its device is where
/// they are placed. Nothing where their pins or places differ.
std::optional<Target> target_for(std::span<const Node* const> nodes, const Target& target);
/// Whether a way of running `node` keeps to the types of `own`, which target_for() gave for it.
bool keeps(const Tactic& tactic, const Node& node, const Target& own);

/// One line for each type of the policy beside f32 that no kernel of the lowered graph computes in, and for
/// each pin that some kernel does not keep.
std::vector<std::string> unused_precisions(const Graph& lowered, const Target& target);
/// Throws Error{unsupported} where a kernel computes in another type than a strict policy says.
void check_strict(const Graph& lowered, const Target& target);

} // namespace lanner
