#pragma once
// The canonical passes: they know no target, and each leaves a graph that means the same. One file each; the
// order is in pipeline.cpp. Every pass covers nested regions, keeps types right and returns whether it
// changed anything.

#include "graph/graph.h"

namespace lanner::passes {

bool remove_identities(Graph& graph); ///< Nodes that give their input back.
bool fold_constants(Graph& graph);    ///< Nodes whose results are known, where those stay of moderate size.
bool simplify_reshapes(
    Graph& graph); ///< Chains of reshape, squeeze, unsqueeze, flatten are one reshape or nothing.
bool explicit_padding(Graph& graph);         ///< auto_pad becomes pads.
bool absorb_pads(Graph& graph);              ///< pad before convolution or pooling becomes its padding.
bool decompose_gemm(Graph& graph);           ///< gemm becomes matmul and add.
bool recognise_activations(Graph& graph);    ///< Spelled-out activations become one node.
bool recognise_global_pooling(Graph& graph); ///< Means over all spatial dims become global_average_pool.
bool fold_batch_normalization(Graph& graph); ///< Goes into weights before it, or becomes mul and add.
bool fold_scales(Graph& graph); ///< Arithmetic with one constant a channel goes into the weights before it.
bool merge_arithmetic(Graph& graph);    ///< Chains of adds or muls of constants become one.
bool simplify_transposes(Graph& graph); ///< Chains of transposes are one, a reshape, or nothing.
bool sink_transposes(Graph& graph);     ///< Transposes move down until they cancel.
bool merge_concats(Graph& graph);       ///< A concat within a concat along the same axis.
bool merge_equal_nodes(Graph& graph);   ///< Pure nodes that compute the same from the same.
bool drop_dead_nodes(Graph& graph);     ///< Pure nodes and captures that nothing uses.

} // namespace lanner::passes
