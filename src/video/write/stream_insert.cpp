#include "video/write/stream_insert.h"

#include "base/check.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/obu.h"

namespace lanner {
namespace {

constexpr std::size_t most_message_bytes = 1 << 20;

void append(std::vector<std::byte>& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append(std::vector<std::byte>& to, std::initializer_list<int> bytes) {
  for (const int byte : bytes) to.push_back(static_cast<std::byte>(byte));
}

/// payloadType and payloadSize: bytes of 255, then the rest (H.264 7.3.2.3.1).
void append_sum(std::vector<std::byte>& to, std::size_t value) {
  for (; value >= 255; value -= 255) to.push_back(std::byte{255});
  to.push_back(static_cast<std::byte>(value));
}

/// With emulation prevention bytes (H.264 7.4.1).
void append_escaped(std::vector<std::byte>& to, Bytes payload) {
  int zeros = 0;
  for (const std::byte byte : payload) {
    if (zeros >= 2 && byte <= std::byte{3}) {
      to.push_back(std::byte{3});
      zeros = 0;
    }
    zeros = byte == std::byte{0} ? zeros + 1 : 0;
    to.push_back(byte);
  }
}

void append_leb128(std::vector<std::byte>& to, std::size_t value) {
  for (; value >= 128; value >>= 7) to.push_back(static_cast<std::byte>((value & 127) | 128));
  to.push_back(static_cast<std::byte>(value));
}

/// obu_has_size_field is 1 (AV1 5.3.2).
void append_obu(std::vector<std::byte>& to, ObuType type, Bytes payload) {
  append(to, {static_cast<int>(type) << 3 | 2});
  append_leb128(to, payload.size());
  append(to, payload);
}

/// Calls `visit(unit, begin)`, `begin` with the zeros of the start code, until it returns false.
template<typename Visit>
void visit_units(Bytes packet, Visit visit) {
  std::size_t code = start_code_at(packet, 0);
  while (code < packet.size()) {
    const std::size_t begin = code > 0 && packet[code - 1] == std::byte{0} ? code - 1 : code;
    const std::size_t next = start_code_at(packet, code + 3);
    if (!visit(packet.subspan(code + 3, next - code - 3), begin)) return;
    code = next;
  }
}

} // namespace

StreamInserter::StreamInserter(std::string_view codec) {
  if (codec == "h264") codec_ = Codec::h264;
  if (codec == "hevc") codec_ = Codec::hevc;
  if (codec == "av1") codec_ = Codec::av1;
}

int StreamInserter::type_of(Bytes unit) const {
  const int first = byte_at(unit, 0);
  return codec_ == Codec::h264 ? first & 31 : first >> 1 & 63;
}

bool StreamInserter::is_parameter_set(int type) const {
  return codec_ == Codec::h264 ? type == 7 || type == 8 || type == 13 : type >= 32 && type <= 34;
}

bool StreamInserter::is_picture(int type) const {
  return codec_ == Codec::h264 ? type >= 1 && type <= 5 : type < 32;
}

std::vector<std::byte> StreamInserter::headers_of(Bytes packet) const {
  std::vector<std::byte> headers;
  if (codec_ == Codec::av1) {
    ObuWalker walker(packet);
    while (const auto unit = walker.next())
      if (unit->type == ObuType::sequence_header && headers.empty())
        append_obu(headers, unit->type, unit->payload);
    return headers;
  }
  if (codec_ == Codec::other) return headers;
  visit_units(packet, [&](Bytes unit, std::size_t) {
    const int type = type_of(unit);
    if (!is_parameter_set(type)) return !is_picture(type);
    while (!unit.empty() && unit.back() == std::byte{0}) unit = unit.first(unit.size() - 1);
    append(headers, {0, 0, 0, 1});
    append(headers, unit);
    return true;
  });
  return headers;
}

StreamInserter::InsertOffsets StreamInserter::offsets_in_units(Bytes packet) const {
  InsertOffsets offsets{packet.size(), packet.size()};
  visit_units(packet, [&](Bytes unit, std::size_t begin) {
    const int type = type_of(unit);
    if (offsets.headers == packet.size() && type != delimiter()) offsets.headers = begin;
    if (is_picture(type)) offsets.messages = begin;
    return !is_picture(type);
  });
  return offsets;
}

StreamInserter::InsertOffsets StreamInserter::offsets_in_obus(Bytes packet) const {
  InsertOffsets offsets{0, 0};
  ObuWalker walker(packet);
  while (const auto unit = walker.next()) {
    const bool delimits = unit->type == ObuType::temporal_delimiter;
    if (!delimits && unit->type != ObuType::sequence_header) break;
    const auto end = static_cast<std::size_t>(unit->payload.data() - packet.data()) + unit->payload.size();
    if (delimits) offsets.headers = end;
    offsets.messages = end;
  }
  return offsets;
}

StreamInserter::InsertOffsets StreamInserter::offsets_in(Bytes packet) const {
  return codec_ == Codec::av1 ? offsets_in_obus(packet) : offsets_in_units(packet);
}

std::vector<std::byte> StreamInserter::sei_unit(std::span<const SeiMessage> messages) const {
  std::vector<std::byte> unit;
  if (codec_ == Codec::av1) {
    for (const SeiMessage& message : messages) {
      std::vector<std::byte> payload;
      append_leb128(payload, static_cast<std::size_t>(message.type));
      append(payload, message.bytes);
      payload.push_back(std::byte{0x80}); // trailing_bits()
      append_obu(unit, ObuType::metadata, payload);
    }
    return unit;
  }
  std::vector<std::byte> payload;
  for (const SeiMessage& message : messages) {
    append_sum(payload, static_cast<std::size_t>(message.type));
    append_sum(payload, message.bytes.size());
    append(payload, message.bytes);
  }
  payload.push_back(std::byte{0x80}); // rbsp_trailing_bits()
  append(unit, {0, 0, 0, 1});
  if (codec_ == Codec::h264)
    append(unit, {6});
  else
    append(unit, {39 << 1, 1}); // PREFIX_SEI_NUT of layer 0 and temporal layer 0.
  append_escaped(unit, payload);
  return unit;
}

std::vector<std::byte> StreamInserter::inserted(Bytes packet, Bytes headers,
                                                std::span<const SeiMessage> messages) const {
  const InsertOffsets offsets = offsets_in(packet);
  std::vector<std::byte> bytes;
  append(bytes, packet.first(offsets.headers));
  append(bytes, headers);
  append(bytes, packet.subspan(offsets.headers, offsets.messages - offsets.headers));
  if (!messages.empty()) append(bytes, sei_unit(messages));
  append(bytes, packet.subspan(offsets.messages));
  return bytes;
}

void StreamInserter::check_messages(std::span<const SeiMessage> messages) const {
  check(messages.empty() || codec_ != Codec::other, ErrorCode::unsupported,
        "encode: SEI messages are of H.264 and HEVC, metadata of AV1; this codec has none");
  std::size_t bytes = 0;
  for (const SeiMessage& message : messages) {
    const bool av1 = codec_ == Codec::av1;
    check(message.type >= (av1 ? 1 : 0) && message.type <= (av1 ? 31 : 0xffff), ErrorCode::invalid_argument,
          "encode: SEI of type {}, expected {}", message.type,
          av1 ? "a metadata type from 1 to 31" : "0 to 65535");
    check(av1 || message.type != 132, ErrorCode::unsupported,
          "encode: SEI of type 132, which stands behind its picture; only those in front can be written");
    check(av1 || message.type != 5 || message.bytes.size() >= 16, ErrorCode::invalid_argument,
          "encode: SEI of type 5 (user data unregistered) with {} bytes, expected a UUID of 16 bytes first",
          message.bytes.size());
    bytes += message.bytes.size();
  }
  check(bytes <= most_message_bytes, ErrorCode::limit_exceeded,
        "encode: {} bytes of SEI for one picture, expected at most {}", bytes, most_message_bytes);
}

} // namespace lanner
