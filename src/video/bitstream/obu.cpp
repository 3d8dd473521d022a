#include "video/bitstream/obu.h"

#include <algorithm>

namespace lanner {

std::optional<std::uint64_t> read_leb128(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8 && i < bytes.size(); ++i) {
    const auto part = std::to_integer<std::uint64_t>(bytes[i]);
    value |= (part & 0x7f) << 7 * i;
    if (part & 0x80) continue;
    bytes = bytes.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

std::optional<Obu> ObuWalker::next() {
  if (rest_.empty()) return std::nullopt;
  const auto header = std::to_integer<unsigned>(rest_[0]);
  const bool extended = header & 4, sized = header & 2;
  const std::size_t header_bytes = extended ? 2 : 1;
  if (header & 0x80 || rest_.size() < header_bytes) {
    rest_ = {};
    return std::nullopt;
  }
  rest_ = rest_.subspan(header_bytes);
  const auto size = sized ? read_leb128(rest_) : std::optional<std::uint64_t>(rest_.size());
  if (!size) {
    rest_ = {};
    return std::nullopt;
  }
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(*size, rest_.size()));
  const Obu unit{static_cast<ObuType>(header >> 3 & 15), rest_.first(taken)};
  rest_ = rest_.subspan(taken);
  return unit;
}

} // namespace lanner
