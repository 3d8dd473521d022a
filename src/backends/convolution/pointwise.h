#pragma once
// Steps of an epilogue as cuDNN pointwise operations.

#include <optional>

#include "backends/convolution/conv_graph.h"
#include "backends/epilogue.h"

namespace lanner::cuda {

/// Nothing for steps that cuDNN lacks.
std::optional<PointwiseStep> activation_step(const ActivationCall& activation);
/// Nothing for operations that hide a NaN.
std::optional<cudnn::PointwiseMode> mode_of(BinaryKind kind);

} // namespace lanner::cuda
