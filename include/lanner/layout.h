#pragma once
// Memory layout of a tensor's logical dimensions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/dtype.h>
#include <lanner/shape.h>

namespace lanner {

/// A permutation of the logical dimensions with inner blocks. In memory the outer dimensions come first, in
/// the order `order`, then the blocks, outermost first. Dimension `d` is padded up to a multiple of the
/// product of its blocks; the padding is zeros.
///
/// Written with one letter per logical dimension, as in oneDNN: `abcd` is dense row-major, `acdb` channels
/// last, `aBcd16b` channels blocked by 16 (a capital is an outer dimension that has blocks), `ABcd16b16a` a
/// weight. The text `row` (an empty Layout) is dense row-major of any rank.
struct Layout {
  struct Block {
    std::uint8_t dim;   ///< Logical dimension that is split.
    std::uint16_t size; ///< Elements in the block, > 1.
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::vector<std::uint8_t> order; ///< Outer order; empty means row-major of any rank.
  std::vector<Block> blocks;

  bool row_major() const noexcept; ///< Dense, natural order, no blocks.
  std::string to_string() const;
  static Layout parse(std::string_view text); ///< Throws Error{bad_data}.
  static Layout channels_last(std::size_t rank);
  static Layout channels_blocked(std::size_t rank, std::uint16_t block);

  /// Sizes after padding to whole blocks.
  Shape padded(const Shape& logical) const;
  /// Bytes of a tensor with `logical` shape; checks overflow.
  std::uint64_t bytes(const Shape& logical, DType type) const;
  /// For a layout without blocks: stride of each logical dimension, in elements.
  std::vector<std::int64_t> strides(const Shape& logical) const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

} // namespace lanner
