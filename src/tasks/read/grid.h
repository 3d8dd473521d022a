#pragma once
// Maps pixels of a picture to positions in a network's output map.

#include <cstdint>
#include <span>
#include <vector>

#include <lanner/preprocess.h>

#include "tasks/read/tap.h"

namespace lanner::tasks {

/// The part of the network's input, in pixels, that a map covers.
struct MapArea {
  double left = 0, top = 0, width = 0, height = 0;
};

/// For each column and row of a part of the picture, its centre's position in a map [rows, columns]:
/// bilinear, half-pixel centres, borders repeated. After an odd number of quarter turns a pixel's column is a
/// position down the map.
class PixelGrid {
public:
  /// `area`: what the map covers of the network's input (width, height).
  PixelGrid(const Placement& placement, const PixelRect& part, const MapArea& area, std::int64_t width,
            std::int64_t height, std::int64_t columns, std::int64_t rows);

  /// Taps of pixel (x, y) of the part, along the map's columns and rows.
  const Tap& across(std::int32_t x, std::int32_t y) const {
    return turned_ ? of_rows_[at(y)] : of_columns_[at(x)];
  }
  const Tap& down(std::int32_t x, std::int32_t y) const {
    return turned_ ? of_columns_[at(x)] : of_rows_[at(y)];
  }
  bool turned() const { return turned_; }
  std::span<const Tap> columns() const { return of_columns_; }
  std::span<const Tap> rows() const { return of_rows_; }
  /// The map elements that pixels of the part read: [first, last] columns and rows; empty where none.
  struct Bounds {
    std::int32_t left = 0, top = 0, right = -1, bottom = -1;
    bool empty() const { return right < left || bottom < top; }
  };
  Bounds bounds() const;
  Bounds bounds(const PixelRect& part) const; ///< The grid for a part of the part.

private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  bool turned_;
  std::vector<Tap> of_columns_, of_rows_; ///< Of the picture's pixels.
};

/// The location of a picture of this size in the input, and the input's size.
struct InputGeometry {
  Placement placement;
  std::int64_t width = 0, height = 0;
};
InputGeometry input_geometry(const Preprocess& spec, std::int32_t width, std::int32_t height);

} // namespace lanner::tasks
