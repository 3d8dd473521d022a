#pragma once
// Splits the rows of a `row_blocks` node into blocks; the buffers for that.

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lanner {

struct RowBlocks {
  /// An input or output with rows.
  struct Part {
    std::uint64_t row_bytes = 0;
    std::uint64_t buffer = 0; ///< Offset in the workspace, for a block larger than the remaining rows.
  };
  std::vector<Part> inputs, outputs; ///< The node's first inputs; all outputs.
  std::vector<std::int64_t> sizes;   ///< Rows of each region's block, ascending.
  std::uint64_t workspace = 0;       ///< Bytes of all buffers, a multiple of 64.
};

/// Of a node whose types were inferred.
RowBlocks row_blocks_of(const Node& node);

/// Which block comes next when `left` rows are left, by index: seconds[b] is the time of block b.
class BlockChoice {
public:
  BlockChoice(std::vector<std::int64_t> sizes, const std::vector<double>& seconds);
  std::size_t next(std::int64_t left) const;

private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::size_t> next_; ///< By rows left, below the largest size.
};

} // namespace lanner
