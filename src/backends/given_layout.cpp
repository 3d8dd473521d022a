#include "backends/given_layout.h"

#include <algorithm>
#include <set>

namespace lanner {

bool is_layout_of(const Layout& layout, const Shape& shape) {
  constexpr std::size_t max_blocks = 8, max_block = 4096;
  if (layout.order.empty()) return layout.blocks.empty();
  const std::set<std::uint8_t> dims(layout.order.begin(), layout.order.end());
  const bool permutation =
      layout.order.size() == shape.rank() && dims.size() == shape.rank() && *dims.rbegin() < shape.rank();
  const bool small = std::ranges::all_of(layout.blocks, [&](const Layout::Block& block) {
    return block.dim < shape.rank() && block.size > 1 && block.size <= max_block;
  });
  return permutation && small && layout.blocks.size() <= max_blocks;
}

} // namespace lanner
