#pragma once
// Cross-layer equalisation (M. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
// Correction", ICCV 2019): the channels between two nodes are scaled, so that those whose values are small
// and whose weights are large get larger values and smaller weights. As weights have a scale for each channel
// of the result, scaling costs the first node nothing, and balances the second one's values against its
// weights.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/int8/int8_nodes.h"

namespace lanner::passes {

/// Candidates that read the results of a convolution or product, by channel, through nothing but relu,
/// leaky_relu and pools, and are the only ones that do.
std::vector<Int8Candidate> equalisable(const Graph& graph, const std::vector<Int8Candidate>& candidates);

/// What each channel that the candidate reads is divided by: powers of two, which change no result of FP32.
/// `largest`: magnitudes of the channels.
std::vector<double> channel_scales(const Graph& graph, const Int8Candidate& candidate,
                                   std::span<const float> largest);

/// Divides the channels in the first node's weights, and multiplies the candidate's, by constants with
/// recipes. False, with nothing changed, where that cannot be computed.
bool equalise(Graph& graph, const Int8Candidate& candidate, const std::vector<double>& scales);

} // namespace lanner::passes
