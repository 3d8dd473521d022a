#pragma once
// Operators that hand items on without reading their elements, and those that a GPU runs where these lie.

#include <cstddef>
#include <cstdint>
#include <span>

#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner::ops {

/// Elements of fewer bytes than this are moved and computed on the host, wherever they lie: waiting for a GPU
/// takes longer than the copy.
std::uint64_t min_bytes_there(const Node& node);

/// Whether the definition of `node` takes input `i` as it is, wherever its tensors lie: sequences and
/// optionals hold them, pick them, count them; or nothing but their shape is read.
bool hands_on(const Node& node, std::size_t i);
/// Whether output 0 is input 0 under another shape, or as it is.
bool is_renamed(const Node& node);

/// Whether the results hold elements of some inputs at other places, or zeros, and nothing is computed.
bool moves_elements(const Node& node);
/// Whether the result names elements of the inputs, and they say how many: non_zero, non_max_suppression.
bool finds_elements(const Node& node);
/// Whether a GPU may run the node where its operands lie once a run told their sizes: it moves or finds
/// elements, or computes real numbers and truth values one by one or by rows.
bool runs_late(const Node& node);
/// Whether input `i` of such a node is elements, or names places as data does; the others are few and say
/// how.
bool reads_elements_of(const Node& node, std::size_t i);

/// The shape of what such a node finds if it were as much as there can be, and the axis that counts it.
struct Room {
  Shape shape;
  std::size_t axis = 0;
};
/// Undefined tensors are absent inputs; those whose elements are few lie on the host.
Room room_of(const Node& node, std::span<const Tensor> inputs);

} // namespace lanner::ops
