#pragma once
// Operators that pass items through without reading their elements, and those that a GPU runs on its own
// data.

#include <cstddef>
#include <cstdint>
#include <span>

#include <lanner/tensor.h>

#include "graph/graph.h"

namespace lanner::ops {

/// Elements of fewer bytes than this are moved and computed on the host, wherever they are: waiting for a GPU
/// takes longer than the copy.
std::uint64_t min_bytes_there(const Node& node);

/// Whether the definition of `node` accepts input `i` on any device: sequences and optionals hold, select or
/// count its tensors; or only their shape is read.
bool hands_on(const Node& node, std::size_t i);
/// Whether output 0 is input 0, unchanged or with another shape.
bool is_renamed(const Node& node);

/// Whether the results are rearranged elements of some inputs, or zeros, and nothing is computed.
bool moves_elements(const Node& node);
/// Whether the result is indices of input elements, whose number depends on data: non_zero,
/// non_max_suppression.
bool finds_elements(const Node& node);
/// Whether a GPU may run the node on its own data once a run knows the sizes: it moves or finds elements, or
/// computes real numbers and booleans element by element or by rows.
bool runs_late(const Node& node);
/// Whether input `i` of such a node is data, elements or indices; the others are short and are parameters.
bool reads_elements_of(const Node& node, std::size_t i);

/// The largest possible shape of the result of such a node, and the axis whose size is the count.
struct Room {
  Shape shape;
  std::size_t axis = 0;
};
/// Undefined tensors are absent inputs; short ones are on the host.
Room room_of(const Node& node, std::span<const Tensor> inputs);

} // namespace lanner::ops
