#pragma once
// Rows of a convolution that overlap in memory: each begins at its pixel in a copy of the image's lines with
// their padding, so that a pixel is copied once and not for each tap.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/contraction/block.h"
#include "backends/contraction/contraction.h"

namespace lanner {

/// Whether rows can lie so: windows of several taps whose lines fill whole steps of tiles.
bool can_share_pixels(const Contraction& contraction, const BlockFunctions& functions);

/// A row is a pixel and those behind it, for each line of the window. A tile of rows is a part of a line of
/// the result, or a few short lines with what is computed between them, where a window ends in the next line.
class ImageRows {
public:
  /// `distance`: between x's pixels, in bytes.
  ImageRows(const Contraction& contraction, const BlockFunctions& functions, std::int64_t distance);

  std::int64_t steps() const { return taps_ * channels_ / 4; } ///< Of a line of the window.
  std::int64_t window_lines() const { return window_lines_; }
  std::int64_t window_line_bytes() const { return dilation_ * line_bytes(); } ///< Between such lines.
  std::int64_t row_bytes() const { return strides_[1] * channels_; }          ///< Between rows of a tile.

  std::int64_t images() const { return images_; }
  std::int64_t lines() const { return out_height_; } ///< Of the result's image.
  std::int64_t width() const { return out_width_; }  ///< Results of a line.
  /// Memory for so many lines of the result of one image.
  std::int64_t bytes(std::int64_t lines) const;

  int tile_rows() const { return tile_rows_; }
  std::int64_t tiles(std::int64_t lines) const { return quotient_up(lines, tile_lines_) * parts_; }
  /// Where a tile's first row begins in the copy.
  std::int64_t tile_start(std::int64_t tile) const;
  /// Calls `visit(row, result, count)` for neighbouring rows of a tile that are results: the first row and
  /// the first result, of the `lines` lines that the copy is for.
  template<typename Visit>
  void each_run(std::int64_t tile, std::int64_t lines, const Visit& visit) const {
    const std::int64_t first = tile / parts_ * tile_lines_, x = tile % parts_ * tile_rows_;
    const std::int64_t count =
        std::min<std::int64_t>(out_width_ - x, tile_lines_ > 1 ? out_width_ : tile_rows_);
    for (std::int64_t line = first; line < std::min(lines, first + tile_lines_); ++line)
      visit((line - first) * padded_width(), line * out_width_ + x, count);
  }

  /// Writes what lines [first, last) of the result of an image read. `zero`: x's zero point.
  void copy(const std::byte* x, std::int64_t image, std::int64_t first, std::int64_t last, int zero,
            std::byte* to) const;

private:
  void choose_tiles(std::int64_t most_rows);
  std::int64_t padded_width() const { return (out_width_ - 1) * strides_[1] + taps_; }
  std::int64_t line_bytes() const { return padded_width() * channels_; }
  std::int64_t lines_read(std::int64_t lines) const {
    return (lines - 1) * strides_[0] + (window_lines_ - 1) * dilation_ + 1;
  }

  const BlockFunctions* functions_ = nullptr;
  std::int64_t channels_ = 0, distance_ = 0; ///< Bytes of a pixel, and from pixel to pixel of x.
  bool signed_ = false;
  std::int64_t images_ = 1, height_ = 1, width_ = 1; ///< Of x.
  std::int64_t out_height_ = 1, out_width_ = 1;
  std::int64_t taps_ = 1, window_lines_ = 1, dilation_ = 1; ///< Taps of a line.
  std::int64_t strides_[2] = {1, 1}, begin_[2] = {0, 0};
  int tile_rows_ = 1;
  std::int64_t tile_lines_ = 1, parts_ = 1; ///< Lines of a tile; or tiles of a line.
};

} // namespace lanner
