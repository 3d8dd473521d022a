#pragma once
// Bits of codec headers, most significant first. Nothing is trusted: behind the end all bits are zero.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanner {

using Bytes = std::span<const std::byte>;

inline std::uint8_t byte_at(Bytes bytes, std::size_t i) {
  return i < bytes.size() ? std::to_integer<std::uint8_t>(bytes[i]) : 0;
}

class BitReader {
public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}

  bool flag() { return bits(1) != 0; }
  void skip(std::size_t count) { place_ += count; }
  bool ended() const noexcept { return place_ > bytes_.size() * 8; }

  /// `count` is 32 at most.
  std::uint32_t bits(int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++place_)
      value = value << 1 | (byte_at(bytes_, place_ / 8) >> (7 - place_ % 8) & 1u);
    return value;
  }

  /// ue(v) of H.264 9.1 and H.265 9.2.
  std::uint32_t exp_golomb() {
    int zeros = 0;
    while (zeros < 32 && !ended() && !flag()) ++zeros;
    return zeros >= 32 ? UINT32_MAX : (1u << zeros) - 1 + bits(zeros);
  }

  /// se(v) of H.264 9.1.1 and H.265 9.2.2.
  std::int64_t signed_exp_golomb() {
    const std::int64_t code = exp_golomb(), half = code / 2;
    return code % 2 ? half + 1 : -half;
  }

private:
  Bytes bytes_;
  std::size_t place_ = 0;
};

} // namespace lanner
