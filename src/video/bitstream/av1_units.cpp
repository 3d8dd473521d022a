#include "video/bitstream/av1_units.h"

#include "video/bitstream/obu.h"

namespace lanner {

namespace {

// OBU_FRAME_HEADER and OBU_FRAME.
constexpr auto frame_header = static_cast<ObuType>(3), frame = static_cast<ObuType>(6);

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
    if (unit->type == ObuType::sequence_header) reduced_ = is_reduced(unit->payload);
}

PacketTraits Av1Units::scan(const Packet& packet) {
  PacketTraits traits;
  bool sequence = false, first = true, any = false;
  ObuWalker walker(packet.bytes);
  while (const auto unit = walker.next()) {
    if (unit->type == ObuType::sequence_header) {
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
