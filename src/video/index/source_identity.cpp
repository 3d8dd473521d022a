#include "video/index/source_identity.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"

namespace lanner {

namespace {

// Containers begin or end with their tables, which tell the most; what lies between tells apart clips of one
// size from one encoder.
constexpr std::size_t end_bytes = 64 << 10, middle_bytes = 4 << 10;
constexpr std::uint64_t middle_pieces = 6;

} // namespace

std::string source_identity(ByteSource& source) {
  const std::int64_t size = source.size();
  const auto whole = static_cast<std::uint64_t>(size < 0 ? 0 : size);
  Hasher hasher;
  hasher.update(std::as_bytes(std::span(&size, 1)));
  std::vector<std::byte> piece(end_bytes);
  const auto add = [&](std::uint64_t offset, std::size_t bytes) {
    hasher.update(std::span<const std::byte>(piece.data(), source.read_at(offset, {piece.data(), bytes})));
  };
  add(0, end_bytes);
  if (whole > end_bytes) add(whole - std::min<std::uint64_t>(end_bytes, whole - end_bytes), end_bytes);
  if (whole > 4 * end_bytes)
    for (std::uint64_t i = 1; i <= middle_pieces; ++i) add(whole / (middle_pieces + 1) * i, middle_bytes);
  return hasher.hex();
}

} // namespace lanner
