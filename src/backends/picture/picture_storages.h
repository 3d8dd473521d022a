#pragma once
// How results of the operator `picture` may be stored: pixels lie plane by plane or channel by channel.

#include <vector>

#include <lanner/preprocess.h>

#include "graph/graph.h"
#include "graph/target.h"

namespace lanner {

/// On the target's device: both orders of pixels, in the result's own type and, of f32, in those that the
/// target's precision allows.
std::vector<Storage> picture_storages(const Node& picture, const Target& target);

/// The node's preprocessing with the order and the type of one of these.
Preprocess stored_preprocess(const Node& picture, const Storage& storage);

} // namespace lanner
