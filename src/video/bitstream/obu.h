#pragma once
// Open bitstream units of AV1 inside a packet.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lanner {

enum class ObuType : std::uint8_t { sequence_header = 1, temporal_delimiter = 2, metadata = 5 };

struct Obu {
  ObuType type; ///< Others than those that ObuType names occur too.
  std::span<const std::byte> payload;
};

/// Walks the units of one packet of the low-overhead format (AV1 5.2, 5.3). Nothing is trusted: a size that
/// reaches beyond the end is cut there.
class ObuWalker {
public:
  explicit ObuWalker(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::optional<Obu> next();

private:
  std::span<const std::byte> rest_;
};

/// Takes a number of 7 bits a byte, lowest first, from the front of `bytes`; nothing when it is cut off or
/// longer than 8 bytes (AV1 4.10.5).
std::optional<std::uint64_t> read_leb128(std::span<const std::byte>& bytes);

} // namespace lanner
