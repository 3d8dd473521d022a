#pragma once
// How results of the operator `preprocess_images` may be stored: planar or interleaved.

#include <vector>

#include <lanner/preprocess.h>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// On the target's device: both pixel orders, in the result's own type and, for f32, in those that the
/// target's precision allows.
std::vector<Storage> picture_storages(const Node& picture, const Target& target);

/// The node's preprocessing with the order and type of one of these.
Preprocess stored_preprocess(const Node& picture, const Storage& storage);

} // namespace lanner
