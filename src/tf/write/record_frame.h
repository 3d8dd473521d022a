#pragma once
// The framing of TFRecord files, which event files are too: each record between its length and checksums.

#include <cstdint>
#include <span>
#include <string>

namespace lanner::tf {

/// Eight bytes of length, little-endian, and four of their masked CRC-32C; four follow a record.
inline constexpr std::size_t record_header_bytes = 12, record_footer_bytes = 4;

std::string record_header(std::uint64_t length);
std::string record_footer(std::span<const std::byte> record);

/// `count` bytes of `value`, the lowest first.
std::string little_endian(std::uint64_t value, std::size_t count);

} // namespace lanner::tf
