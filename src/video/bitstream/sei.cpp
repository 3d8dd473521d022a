#include "video/bitstream/sei.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "video/bitstream/nal_units.h"
#include "video/bitstream/obu.h"

namespace lanner {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t max_messages = 4096;
constexpr std::size_t max_waiting = 512;
constexpr std::uint64_t max_waiting_bytes = 64ull << 20;

// payloadType and payloadSize: a sum of bytes up to the first that is not 0xff.
std::optional<std::size_t> read_sum(Bytes bytes, std::size_t& at) {
  std::size_t sum = 0;
  while (at < bytes.size()) {
    const auto part = std::to_integer<std::size_t>(bytes[at++]);
    sum += part;
    if (part != 0xff) return sum;
  }
  return std::nullopt;
}

// The bytes before the one that holds nothing but trailing bits.
Bytes before_trailing_bits(Bytes bytes) {
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  const bool only_trailing = !bytes.empty() && bytes.back() == std::byte{0x80};
  return only_trailing ? bytes.first(bytes.size() - 1) : bytes;
}

void read_messages(Bytes payload, std::vector<SeiMessage>& messages) {
  const std::vector<std::byte> raw = unescaped(payload);
  const Bytes bytes = before_trailing_bits(raw);
  std::size_t at = 0;
  while (at < bytes.size() && messages.size() < max_messages) {
    const auto type = read_sum(bytes, at);
    const auto size = type ? read_sum(bytes, at) : std::nullopt;
    // Zeros that end a payload may have been taken for padding: they are still in `raw`.
    if (!size || *type > INT32_MAX || *size > raw.size() - at) return;
    const auto content = Bytes(raw).subspan(at, *size);
    messages.push_back({static_cast<int>(*type), {content.begin(), content.end()}});
    at += *size;
  }
}

void read_metadata(Bytes payload, std::vector<SeiMessage>& messages) {
  if (messages.size() >= max_messages) return;
  const auto type = read_leb128(payload);
  if (!type || *type > INT32_MAX) return;
  const Bytes content = before_trailing_bits(payload);
  messages.push_back({static_cast<int>(*type), {content.begin(), content.end()}});
}

} // namespace

SeiScanner::SeiScanner(const StreamInfo& stream) : length_bytes_(nal_length_bytes(stream)) {
  if (stream.codec == "h264") codec_ = Codec::h264;
  if (stream.codec == "hevc") codec_ = Codec::hevc;
  if (stream.codec == "av1") codec_ = Codec::av1;
}

std::vector<SeiMessage> SeiScanner::scan(Bytes packet) const {
  std::vector<SeiMessage> messages;
  if (codec_ == Codec::other) return messages;
  if (codec_ == Codec::av1) {
    ObuWalker walker(packet);
    while (const auto unit = walker.next())
      if (unit->type == ObuType::metadata) read_metadata(unit->payload, messages);
    return messages;
  }
  const std::size_t header = codec_ == Codec::h264 ? 1 : 2;
  NalWalker walker(packet, length_bytes_);
  while (const auto unit = walker.next()) {
    if (unit->size() <= header) continue;
    const auto first = std::to_integer<int>((*unit)[0]), second = std::to_integer<int>((*unit)[1]);
    const int hevc_type = first >> 1 & 63, layer = (first & 1) << 5 | second >> 3;
    const bool sei =
        codec_ == Codec::h264 ? (first & 31) == 6 : (hevc_type == 39 || hevc_type == 40) && layer == 0;
    if (sei) read_messages(unit->subspan(header), messages);
  }
  return messages;
}

void SeiQueue::add(std::int64_t packet, std::vector<SeiMessage> messages) {
  if (messages.empty()) return;
  std::uint64_t bytes = 0;
  for (const SeiMessage& message : messages) bytes += sizeof message + message.bytes.size();
  waiting_.push_back({packet, bytes, std::move(messages)});
  bytes_ += bytes;
  while (waiting_.size() > max_waiting || (bytes_ > max_waiting_bytes && waiting_.size() > 1)) drop_oldest();
}

std::vector<SeiMessage> SeiQueue::take(std::int64_t packet) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [packet](const Waiting& entry) { return entry.packet == packet; });
  if (found == waiting_.end()) return {};
  std::vector<SeiMessage> messages = std::move(found->messages);
  bytes_ -= found->bytes;
  waiting_.erase(found);
  return messages;
}

void SeiQueue::drop_oldest() {
  bytes_ -= waiting_.front().bytes;
  waiting_.pop_front();
}

void SeiQueue::clear() noexcept {
  waiting_.clear();
  bytes_ = 0;
}

} // namespace lanner
