#pragma once
// Choice of the kernel of boxes.cu that copies a box.

#include <cstdint>
#include <optional>

#include "backends/movement/box.h"
#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

/// Nothing where a box has more axes than kernels take.
std::optional<BoxParameters> box_parameters(const Box& box);

/// How many elements may be copied as one, at most `most`: a power of two for which both sides' innermost
/// axes are dense and all other strides, sizes and offsets divisible.
std::int64_t elements_at_once(const Box& box, std::int64_t most);

/// The same box in units of `count` elements, as elements_at_once() allows.
Box in_groups(const Box& box, std::int64_t count);

/// The tiled copy of a box; nothing where it does not pay: both sides are dense along the same axis, or one
/// of the axes is short.
std::optional<TileParameters> tile_parameters(const Box& box, int edge);

} // namespace lanner::cuda
