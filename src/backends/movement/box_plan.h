#pragma once
// Choice of the kernel of boxes.cu that copies a box.

#include <cstdint>
#include <optional>

#include "backends/movement/box.h"
#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

/// Parameters of the plain copy; nothing where the box has more axes than kernels support.
std::optional<BoxParameters> box_parameters(const Box& box);

/// How many elements can be copied as one, at most `most`: a power of two that divides the innermost size,
/// whose axis is dense on both sides, and all other strides and offsets.
std::int64_t elements_at_once(const Box& box, std::int64_t most);

/// The same box in units of `count` elements, as elements_at_once() allows.
Box in_groups(const Box& box, std::int64_t count);

/// Parameters of the tiled copy; nothing where it would not be faster: both sides are dense along the same
/// axis, or one of the two axes is short.
std::optional<TileParameters> tile_parameters(const Box& box, int edge);

/// How many elements of a tile's line can be read, and written, as one, at most `most`: a power of two that
/// divides the two axes, all other strides and the offsets. `box` has tile_parameters().
std::int64_t tile_group(const Box& box, std::int64_t most);

} // namespace lanner::cuda
