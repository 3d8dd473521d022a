#pragma once
// Layers as functions, for the rules of fused operators. Results are in the node's own layout.

#include <string>

#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {

/// A convolution of inputs 0 and 1 over `dims` spatial dims.
Value* convolution_of(RuleContext& context, std::size_t dims);
Value* depthwise_of(RuleContext& context);
/// Normalises `x` with scale, offset, mean and variance from inputs `first` to `first` + 3.
Value* batch_norm_of(RuleContext& context, Value* x, std::size_t first);
/// Adds a number to each channel.
Value* with_bias(RuleContext& context, Value* x, Value* bias);
/// The product of inputs 0 and 1; the attributes say whether their matrices are transposed.
Value* product_of(RuleContext& context, const char* turn_a, const char* turn_b);
Value* relu6_of(RuleContext& context, Value* x);

} // namespace lanner::tensorflow
