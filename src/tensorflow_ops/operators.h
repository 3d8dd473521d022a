#pragma once
// The operators that this library adds to TensorFlow.

#include <string>
#include <vector>

namespace lanner::tensorflow_ops {

/// Defines LannerEngineOp and gives it kernels; the same for TF-TRT's operators where TensorFlow lacks them.
/// Returns their names. Throws Error where TensorFlow refuses one.
std::vector<std::string> register_operators();

} // namespace lanner::tensorflow_ops
