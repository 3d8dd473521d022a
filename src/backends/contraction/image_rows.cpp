#include "backends/contraction/image_rows.h"

#include <algorithm>
#include <cstring>

namespace lanner {

bool can_share_pixels(const Contraction& c, const BlockFunctions& functions) {
  if (!c.conv || c.groups != 1 || functions.whole_rows == 1) return false;
  const ops::Window& window = c.window;
  const auto padded = [](std::int64_t size) { return size >= 0; };
  const std::int64_t line_bytes = window.kernel[1] * c.channels() * functions.element;
  return window.taps() > 1 && window.dilations[1] == 1 && std::ranges::all_of(window.begin, padded) &&
         std::ranges::all_of(window.end, padded) && c.channels() % functions.unit == 0 &&
         line_bytes % (4 * functions.whole_steps) == 0;
}

ImageRows::ImageRows(const Contraction& c, const BlockFunctions& functions, std::int64_t distance)
    : functions_(&functions), channels_(c.channels() * functions.element), distance_(distance),
      signed_(c.x.is_signed()), images_(c.input[0]), height_(c.window.image[0]), width_(c.window.image[1]),
      out_height_(c.window.positions[0]), out_width_(c.window.positions[1]), taps_(c.window.kernel[1]),
      window_lines_(c.window.kernel[0]), dilation_(c.window.dilations[0]),
      strides_{c.window.strides[0], c.window.strides[1]}, begin_{c.window.begin[0], c.window.begin[1]} {
  choose_tiles(functions.whole_rows);
}

/// A tile's products take as long as it has rows. Lines are cut into equal parts; short ones are joined where
/// they follow one another at the distance of rows.
void ImageRows::choose_tiles(std::int64_t most_rows) {
  parts_ = quotient_up(out_width_, most_rows);
  std::int64_t rows = quotient_up(out_width_, parts_);
  const bool joins = strides_[0] == 1 && strides_[1] == 1 && parts_ == 1;
  const std::int64_t between = taps_ - 1;
  if (joins) tile_lines_ = std::clamp((most_rows + between) / padded_width(), std::int64_t{1}, out_height_);
  if (tile_lines_ > 1) rows = tile_lines_ * padded_width() - between;
  tile_rows_ = static_cast<int>(rows);
}

std::int64_t ImageRows::tile_start(std::int64_t tile) const {
  return tile / parts_ * tile_lines_ * strides_[0] * line_bytes() + tile % parts_ * tile_rows_ * row_bytes();
}

std::int64_t ImageRows::bytes(std::int64_t lines) const {
  // The last tiles read beyond the last line.
  const std::int64_t beyond = tile_lines_ * strides_[0] * line_bytes() + tile_rows_ * row_bytes();
  return lines_read(lines) * line_bytes() + beyond + row_slack;
}

void ImageRows::copy(const std::byte* x, std::int64_t image, std::int64_t first, std::int64_t last, int zero,
                     std::byte* to) const {
  const auto padding = static_cast<unsigned char>(signed_ ? zero + 128 : zero);
  const std::byte* const pixels = x + image * height_ * width_ * distance_;
  const std::byte* const end = x + (images_ * height_ * width_ - 1) * distance_ + channels_;
  // With strides some of the last pixels may not be read.
  const std::int64_t left = std::min(begin_[1], padded_width()),
                     inside = std::min(padded_width() - left, width_), right = padded_width() - left - inside;
  const auto fill = [&](std::byte* at, std::int64_t count) {
    std::memset(at, padding, static_cast<std::size_t>(count * channels_));
    return at + count * channels_;
  };
  const bool contiguous = distance_ == channels_;
  const std::int64_t begin = first * strides_[0] - begin_[0];
  for (std::int64_t y = begin; y < begin + lines_read(last - first); ++y) {
    if (y < 0 || y >= height_) {
      to = fill(to, padded_width());
      continue;
    }
    to = fill(to, left);
    functions_->widen({pixels + y * width_ * distance_, distance_, end,
                       contiguous ? inside * channels_ : channels_, contiguous ? 1 : inside, signed_, zero,
                       to, channels_});
    to = fill(to + inside * channels_, right);
  }
}

} // namespace lanner
