#pragma once
// CRC-32C (Castagnoli, RFC 3720 appendix B.4), which TensorFlow's files check their content with.

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanner {

/// The checksum of `bytes`, or of those whose checksum is `before` and `bytes` after them.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;
/// The same without the CPU's instruction for it.
std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

/// As LevelDB and TensorFlow store it: a checksum of bytes that hold checksums would be weak.
constexpr std::uint32_t masked_crc32c(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

} // namespace lanner
