#pragma once
// Random pictures for trials of the operator `preprocess_images`.

#include <cstdint>

#include <lanner/device.h>
#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner {

/// Records of `count` pictures of noise on `device` for the node's input, about twice as large as its output.
/// The tensor is on the host and owns them; the same seed gives the same pixels.
Tensor drawn_pictures(const Node& picture, std::int64_t count, std::uint64_t seed, Device device);

} // namespace lanner
