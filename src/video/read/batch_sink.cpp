#include "video/read/batch_sink.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/limits/account.h"

namespace lanner {

Shape batch_shape(std::int64_t n, const Preprocess& spec, std::int32_t width, std::int32_t height) {
  const Shape element = output_shape(spec, width, height);
  std::vector<std::int64_t> dims{n};
  for (std::size_t i = 0; i < element.rank(); ++i) dims.push_back(element[i]);
  return Shape(dims);
}

BatchSink::BatchSink(std::span<const std::int64_t> indices, const Preprocess& spec,
                     const DecoderOptions& decoder)
    : spec_(spec), stream_(decoder.stream), limits_(decoder.limits) {
  for (std::size_t k = 0; k < indices.size(); ++k)
    elements_.emplace_back(indices[k], static_cast<std::int64_t>(k));
  std::sort(elements_.begin(), elements_.end());
}

void BatchSink::require_shape(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  const Image& image = frame.image;
  const auto count = static_cast<std::int64_t>(elements_.size());
  if (!batch_.defined()) {
    width_ = image.width;
    height_ = image.height;
    const auto account = std::make_shared<Account>(limits_);
    const AccountScope charged(account);
    batch_ =
        Tensor::allocate(spec_.dtype, batch_shape(count, spec_, width_, height_), {}, image.device, limits_);
    return;
  }
  check(batch_shape(count, spec_, image.width, image.height) == batch_.shape(), ErrorCode::invalid_argument,
        "batch: frame {} is {}x{} and another is {}x{}; give the preprocessing a width and a height",
        frame.index, image.width, image.height, width_, height_);
}

void BatchSink::take(Frame& frame) {
  require_shape(frame);
  Tensor batch = batch_; // A view: elements are written side by side.
  auto at = std::lower_bound(elements_.begin(), elements_.end(), std::pair(frame.index, std::int64_t{-1}));
  for (; at != elements_.end() && at->first == frame.index; ++at)
    preprocess(frame.image, spec_, batch, at->second, {.threads = 1, .stream = stream_});
  frame.image = {};
}

} // namespace lanner
