#pragma once
// Which kernel of boxes.cu moves a box.

#include <cstdint>
#include <optional>

#include "backends/movement/box.h"
#include "backends/movement/box_kernel.h"

namespace lanner::cuda {

/// Nothing where a box has more axes than kernels take.
std::optional<BoxParameters> box_parameters(const Box& box);

/// How many elements may be moved as one, at most `most`: a power of two by which both sides' innermost axes
/// are dense and everything else is divisible.
std::int64_t elements_at_once(const Box& box, std::int64_t most);

/// The same box in elements that are `count` of the former, as elements_at_once() allows.
Box in_groups(const Box& box, std::int64_t count);

/// How a box is moved in tiles; nothing where that does not pay: one side's dense axis is the other's too, or
/// one of them is short.
std::optional<TileParameters> tile_parameters(const Box& box, int edge);

} // namespace lanner::cuda
