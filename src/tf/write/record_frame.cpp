#include "tf/write/record_frame.h"

#include "base/crc32c.h"

namespace lanner::tf {

std::string little_endian(std::uint64_t value, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string record_header(std::uint64_t length) {
  const std::string bytes = little_endian(length, 8);
  return bytes + little_endian(masked_crc32c(crc32c(std::as_bytes(std::span(bytes)))), 4);
}

std::string record_footer(std::span<const std::byte> record) {
  return little_endian(masked_crc32c(crc32c(record)), 4);
}

} // namespace lanner::tf
