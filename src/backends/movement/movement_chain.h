#pragma once
// Several consecutive movements as one: maps each element of the last result to its original location in
// memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"
#include "backends/movement/boxes.h"

namespace lanner::cuda {

/// Input of an operation of a chain: the result of an earlier one, or memory.
struct ChainInput {
  bool memory = false;
  std::size_t index = 0; ///< Index of the operation, or into MovementChain::sources.
};

/// One movement; `shape` is its result's.
struct ChainOp {
  enum class Kind : std::uint8_t { transpose, reshape, slice, concat };
  Kind kind = Kind::reshape;
  Shape shape;
  std::vector<ChainInput> inputs;
  std::vector<std::size_t> order; ///< Transpose: the input axis for each output axis.
  std::vector<SliceAxis> slices;  ///< Slice: one for each axis.
  std::size_t axis = 0;           ///< Axis of a concat.
};

/// Values in memory, row-major, and the operations on them; the last operation gives the result.
struct MovementChain {
  struct Source {
    std::size_t input = 0; ///< Of the group.
    Shape shape;
  };
  std::vector<Source> sources;
  std::vector<ChainOp> ops;
  std::size_t element_bytes = 0;

  const Shape& result() const { return ops.back().shape; }
  const Shape& shape_of(const ChainInput& input) const {
    return input.memory ? sources[input.index].shape : ops[input.index].shape;
  }
  /// Elements along the last axis that stay contiguous in each operation, 16 bytes at most: the unit that a
  /// thread copies.
  std::int64_t pack() const;
};

/// Nothing where the group is something else, or branches too deep.
std::optional<MovementChain> movement_chain_of(const Group& group);

/// Source of `movement_chain`(sources in order, result): pointers. Number of threads: elements of the result
/// divided by the pack.
std::string movement_chain_source(const MovementChain& chain);
inline constexpr unsigned movement_chain_block = 256; ///< Threads of a block.

} // namespace lanner::cuda
