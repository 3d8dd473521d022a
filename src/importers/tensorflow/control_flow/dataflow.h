#pragma once
// Control flow of TensorFlow 1 (Switch, Merge, Enter, Exit, NextIteration, LoopCond), which is part of the
// graph's edges, as nodes If and While whose branches and bodies are graphs.

#include <map>
#include <string>
#include <vector>

#include "importers/import_graph.h"
#include "importers/tensorflow/node_references.h"
#include "importers/tensorflow/source_library.h"

namespace lanner::tensorflow {

/// Replaces each frame of one graph or function by a node While, and each conditional by a node If: their
/// attributes `cond` and `body`, or `then_branch` and `else_branch`, are then graphs, which read outer values
/// by name. These are inputs of the node too, after those of the operator. Results keep their names. Nodes
/// that only execute inside of a branch or loop are removed. A graph whose control flow has another form
/// stays as it is, without inputs of NextIteration, which make cycles, and its nodes of control flow get an
/// attribute `lanner_reason`.
///
/// Called before References::resolve(): inputs are as written in the file. `originals` gets the nodes for
/// which each node If and While that was made stands.
void structure_dataflow(std::vector<ImportNode>& nodes, const FunctionOutputs& functions,
                        References::Form form, Originals* originals = nullptr);

/// The attribute of a node of control flow that says why it was left.
inline constexpr const char* dataflow_reason = "lanner_reason";
/// The attribute of a NextIteration that was left: its inputs as written.
inline constexpr const char* back_edges = "_lanner_back_edges";

} // namespace lanner::tensorflow
