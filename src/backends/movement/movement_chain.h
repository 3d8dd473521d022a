#pragma once
// Several movements in a row as one: where each element of the last result lies in memory to begin with.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/group.h"
#include "backends/movement/boxes.h"

namespace lanner::cuda {

/// What an operation of a chain reads: the result of an earlier one, or memory.
struct ChainInput {
  bool memory = false;
  std::size_t index = 0; ///< Of the operation, or of MovementChain::sources.
};

/// One movement; `shape` is its result's.
struct ChainOp {
  enum class Kind : std::uint8_t { transpose, reshape, slice, concat };
  Kind kind = Kind::reshape;
  Shape shape;
  std::vector<ChainInput> inputs;
  std::vector<std::size_t> order; ///< Of a transpose: the input's axis that becomes each axis.
  std::vector<SliceAxis> slices;  ///< Of a slice, one for each axis.
  std::size_t axis = 0;           ///< Of a concat.
};

/// Values that lie in memory, row-major, and what is made of them; the last operation gives the result.
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
  /// Elements along the last axis that stay together in each operation, 16 bytes at most: what a thread
  /// moves.
  std::int64_t pack() const;
};

/// Nothing where the group is something else, or more than a few branches deep.
std::optional<MovementChain> movement_chain_of(const Group& group);

/// Of `movement_chain`(sources in order, result): pointers. Threads that have work: elements of the result by
/// the pack.
std::string movement_chain_source(const MovementChain& chain);
inline constexpr unsigned movement_chain_block = 256; ///< Threads of a block.

} // namespace lanner::cuda
