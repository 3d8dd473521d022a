#pragma once
// Collects frames in one tensor.

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <lanner/preprocess.h>

#include "video/read/frame_conversion.h"

namespace lanner {

/// Writes frames from any thread into the elements of a batch. The first frame decides the tensor's shape.
class BatchSink {
public:
  /// Element k holds frame `indices[k]`.
  BatchSink(std::span<const std::int64_t> indices, const Preprocess& spec, const DecoderOptions& decoder);
  /// Preprocesses the picture into its elements and releases it. Throws Error{invalid_argument} for a frame
  /// whose size gives another shape than the first one's.
  void take(Frame& frame);
  Tensor result() const { return batch_; }

private:
  void require_shape(const Frame& frame);

  std::vector<std::pair<std::int64_t, std::int64_t>> elements_; ///< Frame and element, by frame.
  Preprocess spec_;
  Stream stream_;
  Limits limits_;
  std::mutex mutex_;
  Tensor batch_;
  std::int32_t width_ = 0, height_ = 0; ///< Of the first frame.
};

/// [n] + output_shape for a picture of that size.
Shape batch_shape(std::int64_t n, const Preprocess& spec, std::int32_t width, std::int32_t height);

} // namespace lanner
