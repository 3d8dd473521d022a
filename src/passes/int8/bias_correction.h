#pragma once
// Bias correction (M. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
// ICCV 2019): what rounding takes from the mean of a node's results is added to its bias.

#include <cstdint>
#include <span>
#include <vector>

#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner::passes {

/// Means over the data of what a candidate for INT8 reads, by channel.
struct InputMeans {
  std::vector<float> rounded; ///< Of the values as INT8 stores them.
  std::vector<float> lost;    ///< What the exact values' means have more.
};

/// The means of a value of the run for each index of an axis. At the end of the graph.
Value* channel_means(Graph& graph, Value& value, std::int64_t axis);

/// A number for each channel that a node reads, for each weight, in a shape that weights multiply with.
/// `axis`: as Int8Candidate::weight_axis; `groups`: of a convolution.
Tensor by_weight_channel(std::span<const float> numbers, const Shape& weights, std::int64_t axis,
                         std::int64_t groups);

/// Weights of a candidate, added up over the taps of a window.
class WeightSums {
public:
  /// `bytes`, `scale`: the weights quantised for each index of `axis`. `groups`: of a convolution.
  WeightSums(const Tensor& weights, const Tensor& bytes, const Tensor& scale, std::int64_t axis,
             std::int64_t groups);

  /// What the exact weights' sums of the means have more than the rounded ones', for each channel of the
  /// result, as if each tap read all values: at edges it reads padding instead.
  std::vector<double> correction(const InputMeans& means) const;

private:
  std::int64_t outputs_, inputs_, groups_; ///< `inputs_`: of one group.
  std::vector<float> rounded_, lost_;      ///< By output and input.
};

/// Adds the correction to what the node adds behind its sums. It is computed from the weights by constants
/// with recipes, so that other weights of a refit get another one. `weights`, `rounded`: the node's, exact
/// and as quantized_weights() gives them. Returns whether it could be computed.
bool correct_bias(Node& node, Value* weights, const Node& rounded, std::int64_t axis,
                  const InputMeans& means);

} // namespace lanner::passes
