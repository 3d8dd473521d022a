#include "video/bitstream/nal_units.h"

#include <algorithm>

namespace lanner {

namespace {

int prefix_bytes(const std::vector<std::byte>& extradata, std::size_t position, std::size_t least) {
  const bool prefixed = extradata.size() >= least && byte_at(extradata, 0) == 1;
  return prefixed ? (byte_at(extradata, position) & 3) + 1 : 0;
}

} // namespace

int nal_length_bytes(const StreamInfo& stream) {
  if (stream.codec == "h264") return prefix_bytes(stream.extradata, 4, 7);
  return stream.codec == "hevc" ? prefix_bytes(stream.extradata, 21, 23) : 0;
}

std::size_t start_code_at(Bytes bytes, std::size_t begin) {
  for (std::size_t i = begin; i + 3 <= bytes.size(); ++i) {
    if (byte_at(bytes, i + 2) > 1)
      i += 2;
    else if (byte_at(bytes, i) == 0 && byte_at(bytes, i + 1) == 0 && byte_at(bytes, i + 2) == 1)
      return i;
  }
  return bytes.size();
}

NalWalker::NalWalker(Bytes bytes, int length_bytes)
    : rest_(bytes), length_bytes_(static_cast<std::size_t>(length_bytes)) {
  if (length_bytes_ == 0) up_to_start_code();
}

std::optional<Bytes> NalWalker::next() {
  if (length_bytes_) return next_by_length();
  return rest_.empty() ? std::nullopt : std::optional(up_to_start_code());
}

std::optional<Bytes> NalWalker::next_by_length() {
  if (rest_.size() <= length_bytes_) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes_; ++i) size = size << 8 | byte_at(rest_, i);
  rest_ = rest_.subspan(length_bytes_);
  const auto unit = rest_.first(std::min(size, rest_.size()));
  rest_ = rest_.subspan(unit.size());
  return unit;
}

// Takes the bytes before the next start code, and drops that.
Bytes NalWalker::up_to_start_code() {
  const std::size_t end = start_code_at(rest_, 0);
  const Bytes taken = rest_.first(end);
  rest_ = rest_.subspan(std::min(end + 3, rest_.size()));
  return taken;
}

std::vector<std::byte> unescaped(Bytes unit, std::size_t most) {
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
