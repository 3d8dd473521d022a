#pragma once
// Pictures that the operator `picture` is tried on.

#include <cstdint>

#include <lanner/device.h>
#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner {

/// Records for the node's input of `count` pictures of noise that lie on `device`, about twice as large as
/// the node makes them. The tensor lies on the host and owns them; the same seed gives the same pixels.
Tensor drawn_pictures(const Node& picture, std::int64_t count, std::uint64_t seed, Device device);

} // namespace lanner
