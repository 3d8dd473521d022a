#include "video/nal_units.h"

#include <algorithm>

namespace lanner {

namespace {

std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes[i]);
}

int prefix_bytes(const std::vector<std::byte>& extradata, std::size_t position, std::size_t least) {
  const bool prefixed = extradata.size() >= least && byte_at(extradata, 0) == 1;
  return prefixed ? (byte_at(extradata, position) & 3) + 1 : 0;
}

} // namespace

int nal_length_bytes(const StreamInfo& stream) {
  if (stream.codec == "h264") return prefix_bytes(stream.extradata, 4, 7);
  return stream.codec == "hevc" ? prefix_bytes(stream.extradata, 21, 23) : 0;
}

NalWalker::NalWalker(std::span<const std::byte> bytes, int length_bytes)
    : rest_(bytes), length_bytes_(static_cast<std::size_t>(length_bytes)) {
  if (length_bytes_ == 0) up_to_start_code();
}

std::optional<std::span<const std::byte>> NalWalker::next() {
  if (length_bytes_) return next_by_length();
  return rest_.empty() ? std::nullopt : std::optional(up_to_start_code());
}

std::optional<std::span<const std::byte>> NalWalker::next_by_length() {
  if (rest_.size() <= length_bytes_) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes_; ++i) size = size << 8 | byte_at(rest_, i);
  rest_ = rest_.subspan(length_bytes_);
  const auto unit = rest_.first(std::min(size, rest_.size()));
  rest_ = rest_.subspan(unit.size());
  return unit;
}

// Takes the bytes before the next start code, and drops that.
std::span<const std::byte> NalWalker::up_to_start_code() {
  std::size_t i = 0;
  for (; i + 3 <= rest_.size(); ++i) {
    if (byte_at(rest_, i + 2) > 1)
      i += 2;
    else if (byte_at(rest_, i) == 0 && byte_at(rest_, i + 1) == 0 && byte_at(rest_, i + 2) == 1)
      break;
  }
  const bool found = i + 3 <= rest_.size();
  const auto taken = rest_.first(found ? i : rest_.size());
  rest_ = found ? rest_.subspan(i + 3) : std::span<const std::byte>();
  return taken;
}

std::vector<std::byte> unescaped(std::span<const std::byte> unit, std::size_t most) {
  std::vector<std::byte> result;
  result.reserve(std::min(unit.size(), most));
  int zeros = 0;
  for (std::size_t i = 0; i < unit.size() && result.size() < most; ++i) {
    if (zeros >= 2 && unit[i] == std::byte{3}) {
      zeros = 0;
      continue;
    }
    zeros = unit[i] == std::byte{0} ? zeros + 1 : 0;
    result.push_back(unit[i]);
  }
  return result;
}

} // namespace lanner
