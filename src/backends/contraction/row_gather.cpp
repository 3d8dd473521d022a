#include "backends/contraction/row_gather.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace lanner {

RowGather::RowGather(const Contraction& contraction, const BlockFunctions& functions, std::int64_t distance,
                     bool joined)
    : functions_(&functions), channels_(contraction.channels() * functions.element), distance_(distance),
      element_(functions.sums_floats() || functions.quads() ? 1 : 2), signed_(contraction.x.is_signed()) {
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
  const std::int64_t pixels = contraction.input.elements() / (contraction.channels() * contraction.groups);
  x_bytes_ = (pixels - 1) * distance + channels_ * contraction.groups;
  const std::int64_t unit = 4 / element_;
  run_bytes_ = (run_pixels_ * channels_ + unit - 1) / unit * 4;
  const std::int64_t whole = 4 * functions.whole_steps;
  padding_ = (whole - used_bytes() % whole) % whole;
  const bool copies = functions.sums_floats() || (functions.quads() && !signed_);
  in_place_ = copies && padding_ == 0 && run_bytes_ == channels_ && reads_each_pixel_once();
}

bool RowGather::reads_each_pixel_once() const {
  return lines_ == 1 && runs_ == 1 && run_pixels_ == 1 && strides_[0] == 1 && strides_[1] == 1 &&
         out_height_ == height_ && out_width_ == width_ && begin_[0] == 0 && begin_[1] == 0;
}

void RowGather::gather(const std::byte* x, std::int64_t group, std::int64_t first, std::int64_t last,
                       int zero, std::byte* to) const {
  const int shifted = signed_ ? zero + 128 : zero;
  Pixels pixels{
      nullptr, x + x_bytes_, zero, static_cast<unsigned char>(functions_->quads() ? shifted : 0), 0, 0, 0,
      to};
  for (std::int64_t row = first; row < last; row += pixels.count, pixels.to += pixels.count * row_bytes()) {
    const std::int64_t line = row / out_width_;
    pixels.image = x + line / out_height_ * height_ * width_ * distance_ + group * channels_;
    pixels.y = line % out_height_;
    pixels.x = row % out_width_;
    pixels.count = std::min(out_width_ - pixels.x, last - row);
    gather_pixels(pixels);
    if (padding_ == 0) continue;
    for (std::int64_t i = 0; i < pixels.count; ++i)
      std::memset(pixels.to + i * row_bytes() + used_bytes(), 0, static_cast<std::size_t>(padding_));
  }
}

std::int32_t RowGather::byte_sum(const std::byte* row) const {
  std::int32_t sum = 0;
  for (std::int64_t run = 0; run < lines_ * runs_; ++run) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(row + run * run_bytes_);
    sum = std::accumulate(bytes, bytes + run_pixels_ * channels_, sum);
  }
  return sum;
}

void RowGather::gather_pixels(const Pixels& pixels) const {
  std::int64_t y = pixels.y * strides_[0] - begin_[0];
  std::byte* to = pixels.to;
  for (std::int64_t i = 0; i < lines_; ++i, y += dilations_[0], to += runs_ * run_bytes_) {
    if (y < 0 || y >= height_) {
      for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
        std::memset(to + pixel * row_bytes(), pixels.padding, static_cast<std::size_t>(runs_ * run_bytes_));
      continue;
    }
    const std::byte* line = pixels.image + y * width_ * distance_;
    for (std::int64_t run = 0; run < runs_; ++run)
      gather_runs(pixels, line, run * dilations_[1] - begin_[1], to + run * run_bytes_);
  }
}

/// One run of each pixel: those that are inside of the image at once. `shift`: where the first result's run
/// begins in the line.
void RowGather::gather_runs(const Pixels& pixels, const std::byte* line, std::int64_t shift,
                            std::byte* to) const {
  const std::int64_t stride = strides_[1], room = width_ - run_pixels_ - shift;
  const std::int64_t most = pixels.x + pixels.count;
  const bool contiguous = distance_ == channels_ || run_pixels_ == 1;
  const std::int64_t begin =
      contiguous ? std::clamp(shift < 0 ? (stride - 1 - shift) / stride : 0, pixels.x, most) : most;
  const std::int64_t end = std::clamp(room < 0 ? 0 : room / stride + 1, begin, most);
  const auto at = [&](std::int64_t x) { return to + (x - pixels.x) * row_bytes(); };
  for (std::int64_t x = pixels.x; x < begin; ++x) gather_run(pixels, line, x * stride + shift, at(x));
  if (end > begin) {
    RowRuns runs =
        runs_of(pixels, line + (begin * stride + shift) * distance_, run_pixels_ * channels_, at(begin));
    runs.runs = end - begin;
    functions_->widen(runs);
  }
  for (std::int64_t x = end; x < most; ++x) gather_run(pixels, line, x * stride + shift, at(x));
}

RowRuns RowGather::runs_of(const Pixels& pixels, const std::byte* from, std::int64_t bytes,
                           std::byte* to) const {
  return {from, strides_[1] * distance_, pixels.end, bytes, 1, signed_, pixels.zero, to, row_bytes()};
}

/// One pixel's run, parts of which may be outside.
void RowGather::gather_run(const Pixels& pixels, const std::byte* line, std::int64_t x, std::byte* to) const {
  const std::int64_t begin = std::clamp<std::int64_t>(-x, 0, run_pixels_),
                     end = std::clamp<std::int64_t>(width_ - x, begin, run_pixels_);
  const std::int64_t pixel = channels_ * element_;
  if (begin > 0) std::memset(to, pixels.padding, static_cast<std::size_t>(begin * pixel));
  for (std::int64_t i = begin; i < end; ++i)
    functions_->widen(runs_of(pixels, line + (x + i) * distance_, channels_, to + i * pixel));
  std::memset(to + end * pixel, pixels.padding, static_cast<std::size_t>(run_bytes_ - end * pixel));
}

} // namespace lanner
