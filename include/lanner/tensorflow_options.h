#pragma once
// What a TensorFlow model leaves open to the reader.

#include <string>
#include <vector>

namespace lanner {

/// How a TensorFlow model is read.
struct TensorFlowOptions {
  /// The signature of a SavedModel that becomes the network; its keys name inputs and outputs. Empty:
  /// `serving_default`, or the only one.
  std::string signature;
  /// Tags of the graph to read from a SavedModel with several. Empty: `serve`, or the only graph.
  std::vector<std::string> tags;
  /// Batch normalisation in training mode (is_training=True) is read as inference with its moving averages,
  /// instead of being refused.
  bool freeze_batch_norm = false;
};

} // namespace lanner
