#pragma once
// Memory offsets of a tensor's logical elements.

#include <cstdint>
#include <vector>

#include <lanner/layout.h>

namespace lanner {

/// The layout's dimensions, outermost first, without its blocks.
std::vector<std::size_t> outer_order(const Layout& layout, std::size_t rank);

/// Element offsets of a layout over a shape. The offset of an element is the sum over its dimensions of
/// `offset(dim, index)`, so loops can keep partial sums.
class LayoutOffsets {
public:
  /// `shape` is the logical shape. Throws Error{invalid_argument, limit_exceeded} when they do not fit.
  LayoutOffsets(const Layout& layout, const Shape& shape);

  std::int64_t offset(std::size_t dim, std::int64_t index) const noexcept {
    const Dim& d = dims_[dim];
    std::int64_t result = 0;
    for (const Block& block : d.blocks) {
      result += index % block.size * block.stride;
      index /= block.size;
    }
    return result + index * d.stride;
  }
  /// Dimensions from outermost to innermost in memory.
  const std::vector<std::size_t>& memory_order() const noexcept { return memory_order_; }

private:
  struct Block {
    std::int64_t size, stride;
  };
  struct Dim {
    std::int64_t stride = 1;   ///< Stride of the outer index.
    std::vector<Block> blocks; ///< Innermost first.
  };
  std::vector<Dim> dims_;
  std::vector<std::size_t> memory_order_;
};

} // namespace lanner
