#pragma once
// How the work of a contraction is cut into tasks.

#include <cstdint>

#include "backends/contraction/block.h"
#include "backends/contraction/contraction.h"
#include "backends/contraction/image_rows.h"
#include "backends/contraction/row_gather.h"

namespace lanner {

/// How the work is cut. A task is a block of rows by a part of the panels of one group; within it, a strip of
/// rows meets as many panels as stay in the L2 cache before the next strip does.
struct Blocking {
  std::int64_t rows = 0;         ///< Of a block.
  std::int64_t blocks = 0;       ///< Of rows.
  std::int64_t panels = 0;       ///< Of a group.
  std::int64_t parts = 1;        ///< Of a group's panels.
  std::int64_t group_panels = 1; ///< Those that stay in the cache.
  /// Where rows share pixels: images of a block, which are whole, or lines of one.
  std::int64_t images = 0, lines = 0;

  std::int64_t tasks(std::int64_t groups) const { return groups * blocks * parts; }
};

Blocking gathered_blocking(const Contraction& contraction, const BlockFunctions& functions,
                           const RowGather& gather, int threads);
/// The same where rows share pixels. Blocks of large weights are as large as the cache allows.
Blocking shared_blocking(const Contraction& contraction, const BlockFunctions& functions,
                         const ImageRows& rows, int threads);

} // namespace lanner
