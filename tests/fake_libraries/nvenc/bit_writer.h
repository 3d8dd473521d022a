#pragma once
// Bits of a stream, and units of H.264 and HEVC.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanner::fake_nvenc {

class BitWriter {
public:
  void put(std::uint64_t value, unsigned bits) {
    while (bits-- > 0) put_bit(value >> bits & 1);
  }
  void flag(bool value) { put_bit(value); }
  /// ue(v) and se(v) of both codecs.
  void ue(std::uint32_t value) {
    const std::uint64_t coded = std::uint64_t{value} + 1;
    const auto bits = static_cast<unsigned>(std::bit_width(coded));
    put(0, bits - 1);
    put(coded, bits);
  }
  void se(std::int32_t value) {
    ue(value > 0 ? static_cast<std::uint32_t>(2 * value - 1) : static_cast<std::uint32_t>(-2 * value));
  }
  /// Fills the last byte with `bit`.
  void align(bool bit = false) {
    while (free_ != 8) put_bit(bit);
  }
  /// rbsp_trailing_bits: a one, then zeros.
  void trail() {
    put_bit(true);
    align();
  }
  bool aligned() const { return free_ == 8; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

private:
  void put_bit(bool bit) {
    if (free_ == 8) bytes_.push_back(0);
    --free_;
    bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | (bit ? 1 : 0) << free_);
    if (free_ == 0) free_ = 8;
  }
  std::vector<std::uint8_t> bytes_;
  unsigned free_ = 8; ///< Bits that the last byte has left; 8 where a new one begins.
};

/// Appends a NAL unit: start code, header, and payload with its emulation prevention bytes.
inline void append_unit(std::vector<std::uint8_t>& stream, std::vector<std::uint8_t> header,
                        const std::vector<std::uint8_t>& payload) {
  for (const int byte : {0, 0, 0, 1}) stream.push_back(static_cast<std::uint8_t>(byte));
  stream.insert(stream.end(), header.begin(), header.end());
  unsigned zeros = 0;
  for (const std::uint8_t byte : payload) {
    if (zeros == 2 && byte <= 3) {
      stream.push_back(3);
      zeros = 0;
    }
    stream.push_back(byte);
    zeros = byte == 0 ? zeros + 1 : 0;
  }
}

} // namespace lanner::fake_nvenc
