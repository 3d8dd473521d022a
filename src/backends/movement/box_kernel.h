#pragma once
// Parameters of the kernels of boxes.cu. Shared by host and device code.

#include <cstdint>

#include "backends/cuda/divisor.h"

namespace lanner::cuda {

inline constexpr int max_box_axes = 8;

/// A box of elements, outermost axis first; strides count elements.
struct BoxParameters {
  int rank = 0;
  bool divides_fast = false; ///< `divisors` may be used: there are fewer elements than divisor_limit.
  std::int64_t elements = 0;
  std::int64_t sizes[max_box_axes] = {}, source[max_box_axes] = {}, target[max_box_axes] = {};
  Divisor divisors[max_box_axes] = {};
};

/// A box whose source is dense along one axis (`rows`) and whose target is dense along another (`columns`):
/// it is copied in square tiles through shared memory, so that reads and writes are both coalesced. The other
/// axes are in `outer`, whose elements number pairs of planes.
struct TileParameters {
  BoxParameters outer;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_target = 0,
               column_source = 0; ///< The strides of the axis that is dense on the other side.
  std::int64_t row_tiles = 0, column_tiles = 0;
};

/// Tile edge for elements of so many bytes.
LANNER_HOST_DEVICE constexpr int tile_edge(int bytes) {
  return bytes <= 2 ? 64 : 32;
}

} // namespace lanner::cuda
