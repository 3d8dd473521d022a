#pragma once
// Reads numbers and strings of a byte string in order; reading past its end is Error{bad_data}.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace lanner::tensorflow {

class Cursor {
public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::size_t left() const noexcept { return bytes_.size() - at_; }
  std::size_t position() const noexcept { return at_; }

  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }

  std::string_view take(std::uint64_t count) {
    check(count <= left(), ErrorCode::bad_data, "{} bytes expected after byte {} of {}; it is cut short",
          count, at_, bytes_.size());
    const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }

  /// Seven bits a byte, the lowest first.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t part = byte();
      value |= (part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
    fail(ErrorCode::bad_data, "a number of more than 64 bits before byte {}", at_);
  }

  /// A little-endian number of `count` bytes.
  std::uint64_t fixed(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view part = take(count);
    for (std::size_t i = 0; i < count; ++i)
      value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(part[i])) << (8 * i);
    return value;
  }

private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

} // namespace lanner::tensorflow
