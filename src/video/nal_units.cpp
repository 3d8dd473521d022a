#include "video/nal_units.h"

namespace lanner {

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
  const Bytes unit = rest_.first(std::min(size, rest_.size()));
  rest_ = rest_.subspan(unit.size());
  return unit;
}

// Takes the bytes before the next start code, and drops that.
Bytes NalWalker::up_to_start_code() {
  std::size_t i = 0;
  for (; i + 3 <= rest_.size(); ++i) {
    if (byte_at(rest_, i + 2) > 1)
      i += 2;
    else if (byte_at(rest_, i) == 0 && byte_at(rest_, i + 1) == 0 && byte_at(rest_, i + 2) == 1)
      break;
  }
  const bool found = i + 3 <= rest_.size();
  const Bytes taken = rest_.first(found ? i : rest_.size());
  rest_ = found ? rest_.subspan(i + 3) : Bytes();
  return taken;
}

std::vector<std::byte> unescaped(Bytes unit, std::size_t most) {
  std::vector<std::byte> result;
  int zeros = 0;
  for (std::size_t i = 0; i < unit.size() && result.size() < most; ++i) {
    const std::uint8_t byte = byte_at(unit, i);
    const bool prevention = zeros >= 2 && byte == 3;
    if (!prevention) result.push_back(unit[i]);
    zeros = byte == 0 ? zeros + 1 : 0;
  }
  return result;
}

namespace {

// Units behind lengths of two bytes, as the configuration records have them.
void read_sets(Bytes& rest, std::size_t count, std::vector<Bytes>& sets) {
  for (std::size_t i = 0; i < count && rest.size() >= 2; ++i) {
    const std::size_t size = byte_at(rest, 0) << 8 | byte_at(rest, 1);
    rest = rest.subspan(2);
    sets.push_back(rest.first(std::min(size, rest.size())));
    rest = rest.subspan(sets.back().size());
  }
}

} // namespace

NalFraming read_framing(Bytes extradata, bool hevc) {
  NalFraming framing;
  const std::size_t least = hevc ? 23 : 7;
  if (extradata.size() < least || byte_at(extradata, 0) != 1) {
    NalWalker walker(extradata, 0);
    while (const auto unit = walker.next()) framing.parameter_sets.push_back(*unit);
    return framing;
  }
  framing.length_bytes = (byte_at(extradata, hevc ? 21 : 4) & 3) + 1;
  if (!hevc) {
    Bytes rest = extradata.subspan(6);
    read_sets(rest, byte_at(extradata, 5) & 31, framing.parameter_sets);
    const std::size_t pictures = byte_at(rest, 0);
    if (!rest.empty()) rest = rest.subspan(1);
    read_sets(rest, pictures, framing.parameter_sets);
    return framing;
  }
  Bytes rest = extradata.subspan(23);
  for (int arrays = byte_at(extradata, 22); arrays > 0 && rest.size() >= 3; --arrays) {
    const std::size_t count = byte_at(rest, 1) << 8 | byte_at(rest, 2);
    rest = rest.subspan(3);
    read_sets(rest, count, framing.parameter_sets);
  }
  return framing;
}

int nal_length_bytes(const StreamInfo& stream) {
  const bool hevc = stream.codec == "hevc";
  return hevc || stream.codec == "h264" ? read_framing(stream.extradata, hevc).length_bytes : 0;
}

} // namespace lanner
