#include <lanner/layout.h>

#include <algorithm>
#include <limits>

#include <lanner/error.h>

#include "base/check.h"

namespace lanner {
namespace {

constexpr std::uint64_t max_i64 = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t max_letters = 26;
constexpr std::size_t max_block = 65535;

bool natural(const std::vector<std::uint8_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

std::uint64_t block_product(const Layout& layout, std::size_t dim) {
  std::uint64_t product = 1;
  for (const Layout::Block& block : layout.blocks)
    if (block.dim == dim) product = checked_product(product, block.size, max_i64, "layout");
  return product;
}

void require_rank(const Layout& layout, const Shape& shape) {
  const bool fits = layout.order.empty() ? layout.blocks.empty() : layout.order.size() == shape.rank();
  check(fits, ErrorCode::invalid_argument, "layout: {} does not describe a tensor of rank {}",
        layout.to_string(), shape.rank());
}

[[noreturn]] void fail_parse(std::string_view text, std::string_view why) {
  fail(ErrorCode::bad_data, "layout: \"{}\": {}; expected row or letters such as acdb or aBcd16b", text, why);
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
std::uint8_t dim_of(char c) {
  return static_cast<std::uint8_t>(c >= 'a' ? c - 'a' : c - 'A');
}

std::size_t parse_outer(std::string_view text, Layout& layout) {
  std::size_t at = 0;
  for (; at < text.size() && is_letter(text[at]); ++at) {
    const std::uint8_t dim = dim_of(text[at]);
    if (std::count(layout.order.begin(), layout.order.end(), dim))
      fail_parse(text, "a dimension appears twice");
    layout.order.push_back(dim);
  }
  if (layout.order.empty()) fail_parse(text, "no dimension");
  for (std::uint8_t dim : layout.order)
    if (dim >= layout.order.size()) fail_parse(text, "a letter in between is missing");
  return at;
}

void parse_blocks(std::string_view text, std::size_t at, Layout& layout) {
  while (at < text.size()) {
    std::size_t size = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && size <= max_block; ++at)
      size = size * 10 + static_cast<std::size_t>(text[at] - '0');
    if (size < 2 || size > max_block) fail_parse(text, "a block size is not in 2 to 65535");
    if (at == text.size() || text[at] < 'a' || text[at] > 'z')
      fail_parse(text, "a block without its dimension");
    const std::uint8_t dim = dim_of(text[at++]);
    if (dim >= layout.order.size()) fail_parse(text, "a block of a dimension that does not exist");
    layout.blocks.push_back({dim, static_cast<std::uint16_t>(size)});
  }
}

} // namespace

bool Layout::row_major() const noexcept {
  return blocks.empty() && natural(order);
}

std::string Layout::to_string() const {
  if (order.empty() && blocks.empty()) return "row";
  check(order.size() <= max_letters, ErrorCode::unsupported, "layout: rank {} has no text form; at most {}",
        order.size(), max_letters);
  std::string text;
  for (std::uint8_t dim : order) {
    const bool blocked =
        std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) { return block.dim == dim; });
    text.push_back(static_cast<char>((blocked ? 'A' : 'a') + dim));
  }
  for (const Block& block : blocks)
    text += fmt::format("{}{}", block.size, static_cast<char>('a' + block.dim));
  return text;
}

Layout Layout::parse(std::string_view text) {
  if (text == "row") return {};
  Layout layout;
  parse_blocks(text, parse_outer(text, layout), layout);
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    const bool capital = text[i] < 'a';
    if (capital != (block_product(layout, layout.order[i]) > 1))
      fail_parse(text, "capital letters and blocks do not match");
  }
  if (layout.row_major()) return {};
  return layout;
}

Layout Layout::channels_last(std::size_t rank) {
  Layout layout;
  if (rank < 3) return layout;
  layout.order.push_back(0);
  for (std::size_t i = 2; i < rank; ++i) layout.order.push_back(static_cast<std::uint8_t>(i));
  layout.order.push_back(1);
  return layout;
}

Layout Layout::channels_blocked(std::size_t rank, std::uint16_t block) {
  check(rank >= 2 && block > 1, ErrorCode::invalid_argument,
        "layout: channels blocked by {} need rank 2 or more and a block above 1, got rank {}", block, rank);
  Layout layout;
  for (std::size_t i = 0; i < rank; ++i) layout.order.push_back(static_cast<std::uint8_t>(i));
  layout.blocks.push_back({1, block});
  return layout;
}

Shape Layout::padded(const Shape& logical) const {
  require_rank(*this, logical);
  Shape result = logical;
  for (const Block& block : blocks) {
    check(block.dim < logical.rank() && block.size > 1, ErrorCode::invalid_argument,
          "layout: a block of {} in dimension {} does not fit rank {}", block.size, block.dim,
          logical.rank());
    const std::uint64_t whole = block_product(*this, block.dim);
    const std::uint64_t size = static_cast<std::uint64_t>(logical[block.dim]);
    const std::uint64_t count = size / whole + (size % whole != 0);
    result[block.dim] = static_cast<std::int64_t>(checked_product(count, whole, max_i64, "layout"));
  }
  return result;
}

std::uint64_t Layout::bytes(const Shape& logical, DType type) const {
  const auto elements = static_cast<std::uint64_t>(padded(logical).elements());
  if (type == DType::string) return checked_product(elements, sizeof(std::string), max_i64, "tensor bytes");
  return checked_product(elements, bit_width(type), std::numeric_limits<std::uint64_t>::max() - 7,
                         "tensor bits") /
             8 +
         (elements * bit_width(type) % 8 != 0);
}

std::vector<std::int64_t> Layout::strides(const Shape& logical) const {
  require_rank(*this, logical);
  check(blocks.empty(), ErrorCode::invalid_argument, "layout: {} has blocks, which strides cannot describe",
        to_string());
  if (order.empty()) return dense_strides(logical);
  Shape outer;
  for (std::uint8_t dim : order) outer.push_back(logical[dim]);
  const std::vector<std::int64_t> dense = dense_strides(outer);
  std::vector<std::int64_t> result(logical.rank());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = dense[i];
  return result;
}

} // namespace lanner
