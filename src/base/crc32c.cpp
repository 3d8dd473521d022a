#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace lanner {
namespace {

constexpr std::size_t word = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, word>;

/// `tables[i][b]`: the checksum of the byte `b` and `i` zeros after it.
constexpr Tables make_tables() {
  constexpr std::uint32_t polynomial = 0x82f63b78; // bits in reverse
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t i = 1; i < word; ++i)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[i][byte] = (tables[i - 1][byte] >> 8) ^ tables[0][tables[i - 1][byte] & 0xff];
  return tables;
}
constexpr Tables tables = make_tables();

std::uint32_t by_tables(const std::byte* data, std::size_t count, std::uint32_t crc) noexcept {
  for (; count >= word; data += word, count -= word) {
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(data[i]); };
    const std::uint32_t low = crc ^ (at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24);
    crc = 0;
    for (std::size_t i = 0; i < 4; ++i) crc ^= tables[word - 1 - i][(low >> (8 * i)) & 0xff];
    for (std::size_t i = 4; i < word; ++i) crc ^= tables[word - 1 - i][at(i)];
  }
  for (; count > 0; ++data, --count)
    crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(*data)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const std::byte* data, std::size_t count,
                                                               std::uint32_t crc) noexcept {
  std::uint64_t wide = crc;
  for (; count >= word; data += word, count -= word) {
    std::uint64_t part = 0;
    std::memcpy(&part, data, word);
    wide = _mm_crc32_u64(wide, part);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (; count > 0; ++data, --count) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*data));
  return narrow;
}
#endif

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_instruction(bytes.data(), bytes.size(), ~before);
#endif
  return crc32c_by_tables(bytes, before);
}

std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  return ~by_tables(bytes.data(), bytes.size(), ~before);
}

} // namespace lanner
