#include "program/weights/weight_ring.h"

#include <algorithm>
#include <vector>

namespace lanner {

std::uint64_t place_in_ring(std::span<WeightBlock> blocks, std::uint64_t capacity) {
  std::uint64_t next = 0, used = 0;
  std::vector<const WeightBlock*> there; // not overwritten yet
  for (WeightBlock& block : blocks) {
    if (next + block.bytes > capacity) next = 0;
    block.offset = next;
    next += block.bytes;
    used = std::max(used, next);
    block.behind = WeightBlock::nothing;
    std::erase_if(there, [&](const WeightBlock* before) {
      const bool meets = before->offset < next && block.offset < before->offset + before->bytes;
      if (meets)
        block.behind =
            block.behind == WeightBlock::nothing ? before->step : std::max(block.behind, before->step);
      return meets;
    });
    there.push_back(&block);
  }
  return used;
}

} // namespace lanner
