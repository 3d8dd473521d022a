#include "backends/quantized/row_gather.h"

#include <algorithm>
#include <cstring>

namespace lanner {

RowGather::RowGather(const Contraction& contraction, const Int8Functions& functions, std::int64_t distance,
                     bool joined)
    : functions_(&functions), channels_(contraction.channels()), distance_(distance),
      element_(functions.quads() ? 1 : 2), signed_(contraction.x.is_signed()) {
  if (contraction.conv) {
    const ops::Window& window = contraction.window;
    height_ = window.image[0];
    width_ = window.image[1];
    out_height_ = window.positions[0];
    out_width_ = window.positions[1];
    lines_ = window.kernel[0];
    run_pixels_ = joined ? window.kernel[1] : 1;
    runs_ = joined ? 1 : window.kernel[1];
    for (std::size_t i : {0, 1}) {
      strides_[i] = window.strides[i];
      dilations_[i] = window.dilations[i];
      begin_[i] = window.begin[i];
    }
  } else {
    width_ = out_width_ = contraction.rows();
  }
  const std::int64_t unit = functions.unit;
  run_bytes_ = (run_pixels_ * channels_ + unit - 1) / unit * 4;
}

void RowGather::gather(const std::byte* x, std::int64_t group, std::int64_t first, std::int64_t last,
                       int zero, std::byte* to) const {
  const std::int64_t pixels = out_height_ * out_width_;
  const int shifted = signed_ ? zero + 128 : zero;
  Source source{nullptr, zero, static_cast<unsigned char>(functions_->quads() ? shifted : 0)};
  for (std::int64_t row = first; row < last; ++row, to += row_bytes()) {
    const std::int64_t image = row / pixels, pixel = row % pixels;
    source.image = x + image * height_ * width_ * distance_ + group * channels_;
    const std::int64_t top = pixel / out_width_ * strides_[0] - begin_[0],
                       left = pixel % out_width_ * strides_[1] - begin_[1];
    for (std::int64_t line = 0; line < lines_; ++line)
      gather_line(source, top + line * dilations_[0], left, to + line * runs_ * run_bytes_);
  }
}

void RowGather::gather_line(const Source& source, std::int64_t y, std::int64_t x, std::byte* to) const {
  if (y < 0 || y >= height_) {
    std::memset(to, source.padding, static_cast<std::size_t>(runs_ * run_bytes_));
    return;
  }
  const std::byte* line = source.image + y * width_ * distance_;
  for (std::int64_t run = 0; run < runs_; ++run, x += dilations_[1], to += run_bytes_)
    gather_run(source, line, x, to);
}

void RowGather::gather_run(const Source& source, const std::byte* line, std::int64_t x, std::byte* to) const {
  const std::int64_t begin = std::clamp<std::int64_t>(-x, 0, run_pixels_),
                     end = std::clamp<std::int64_t>(width_ - x, begin, run_pixels_);
  const std::int64_t before = begin * channels_ * element_, after = end * channels_ * element_;
  if (before > 0) std::memset(to, source.padding, static_cast<std::size_t>(before));
  if (distance_ == channels_) {
    if (end > begin)
      functions_->widen(line + (x + begin) * distance_, (end - begin) * channels_, signed_, source.zero,
                        to + before);
  } else {
    for (std::int64_t i = begin; i < end; ++i)
      functions_->widen(line + (x + i) * distance_, channels_, signed_, source.zero,
                        to + i * channels_ * element_);
  }
  if (after < run_bytes_)
    std::memset(to + after, source.padding, static_cast<std::size_t>(run_bytes_ - after));
}

} // namespace lanner
