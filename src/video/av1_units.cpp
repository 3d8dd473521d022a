#include "video/av1_units.h"

#include <optional>

namespace lanner {

namespace {

struct Obu {
  int type = 0;
  Bytes payload;
};
constexpr int sequence_header = 1, frame_header = 3, frame = 6;

/// Walks the open bitstream units of a low-overhead stream.
class ObuWalker {
public:
  explicit ObuWalker(Bytes bytes) : rest_(bytes) {}
  std::optional<Obu> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint8_t head = byte_at(rest_, 0);
    const std::size_t header = head & 4 ? 2 : 1;
    rest_ = rest_.subspan(std::min(header, rest_.size()));
    std::size_t size = rest_.size();
    if (head & 2) size = std::min(leb128(), rest_.size());
    const Obu unit{head >> 3 & 15, rest_.first(size)};
    rest_ = rest_.subspan(size);
    return unit;
  }

private:
  std::size_t leb128() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8 && !rest_.empty(); ++i) {
      const std::uint64_t byte = byte_at(rest_, 0);
      rest_ = rest_.subspan(1);
      value |= (byte & 127) << (7 * i);
      if (!(byte & 128)) break;
    }
    return static_cast<std::size_t>(value);
  }

  Bytes rest_;
};

bool is_reduced(Bytes sequence) {
  BitReader bits(sequence);
  bits.skip(3 + 1); // seq_profile, still_picture
  return bits.flag();
}

} // namespace

Av1Units::Av1Units(Bytes extradata) {
  if (extradata.size() < 4 || byte_at(extradata, 0) != 0x81) return; // No av1C.
  ObuWalker walker(extradata.subspan(4));
  while (const auto unit = walker.next())
    if (unit->type == sequence_header) reduced_ = is_reduced(unit->payload);
}

PacketTraits Av1Units::scan(const Packet& packet) {
  PacketTraits traits;
  bool sequence = false, first = true, any = false;
  ObuWalker walker(packet.bytes);
  while (const auto unit = walker.next()) {
    if (unit->type == sequence_header) {
      sequence = true;
      reduced_ = is_reduced(unit->payload);
    }
    if (unit->type != frame_header && unit->type != frame) continue;
    any = true;
    if (!first) continue;
    first = false;
    BitReader bits(unit->payload);
    const bool existing = !reduced_ && bits.flag();
    if (existing) continue; // Shows what an earlier packet holds: no place to begin.
    const bool key = reduced_ || bits.bits(2) == 0;
    const bool shown = reduced_ || bits.flag();
    if (!key) continue;
    // Without a sequence header in the unit a decoder that was flushed has none.
    traits.start = !sequence ? EntryPoint::inexact : shown ? EntryPoint::clean : EntryPoint::open;
    traits.delayed = !shown;
  }
  traits.shown = any;
  return traits;
}

} // namespace lanner
