#include "video/bitstream/mpeg_headers.h"

#include <algorithm>
#include <optional>

#include "video/bitstream/nal_units.h"

namespace lanner {

namespace {

/// What follows a start code 00 00 01, the code's own byte first.
class StartCodes {
public:
  explicit StartCodes(Bytes bytes) : rest_(bytes) {}
  std::optional<Bytes> next() {
    for (std::size_t i = 0; i + 3 < rest_.size(); ++i) {
      if (byte_at(rest_, i) != 0 || byte_at(rest_, i + 1) != 0 || byte_at(rest_, i + 2) != 1) continue;
      rest_ = rest_.subspan(i + 3);
      return rest_;
    }
    return std::nullopt;
  }

private:
  Bytes rest_;
};

constexpr std::uint32_t intra = 1, bidirectional = 3;

/// Pictures of one packet.
struct Pictures {
  int count = 0;
  bool first_is_intra = false, all_bidirectional = true, fields = false;
  bool sequence_header = false, group_header = false, closed = false, matrices = false;
};

void read_extension(Bytes unit, Pictures& seen) {
  BitReader bits(unit.subspan(1));
  const std::uint32_t kind = bits.bits(4);
  if (kind == 3) seen.matrices = true;
  if (kind != 8) return;
  bits.skip(16 + 2);
  if (bits.bits(2) != 3) seen.fields = true;
}

Pictures read_pictures(Bytes bytes) {
  Pictures seen;
  StartCodes codes(bytes);
  while (const auto unit = codes.next()) {
    const std::uint8_t code = byte_at(*unit, 0);
    if (code == 0xb3) seen.sequence_header = true;
    if (code == 0xb5) read_extension(*unit, seen);
    if (code == 0xb8 && seen.count == 0) {
      seen.group_header = true;
      BitReader bits(unit->subspan(1));
      bits.skip(25); // time_code
      seen.closed = bits.flag();
    }
    if (code != 0) continue;
    BitReader bits(unit->subspan(1));
    bits.skip(10); // temporal_reference
    const std::uint32_t type = bits.bits(3);
    if (seen.count++ == 0) seen.first_is_intra = type == intra;
    seen.all_bidirectional = seen.all_bidirectional && type == bidirectional;
  }
  return seen;
}

} // namespace

PacketTraits MpegHeaders::scan(const Packet& packet) {
  const Pictures seen = read_pictures(packet.bytes);
  PacketTraits traits;
  if (seen.count == 0) { // Headers that the container has set apart: its word is all there is.
    traits.start = packet.key ? EntryPoint::inexact : EntryPoint::none;
    return traits;
  }
  traits.disposable = seen.all_bidirectional && !seen.fields;
  traits.reordered = seen.all_bidirectional;
  if (seen.first_is_intra) {
    const bool whole = seen.sequence_header || (seen.group_header && !lasting_matrices_);
    traits.start = !whole ? EntryPoint::inexact : seen.closed ? EntryPoint::clean : EntryPoint::open;
  }
  lasting_matrices_ = lasting_matrices_ || seen.matrices;
  return traits;
}

namespace {

constexpr std::size_t max_filler_bytes = 19, max_ignored_bytes = 7;
constexpr std::size_t max_given_bytes = 4096, max_header_bytes = 256; // So that comparing stays cheap.
constexpr std::uint32_t intra_plane = 0, bidirectional_plane = 2;

// Bits from modulo_time_base on, `unit` being that of a VOP.
std::vector<bool> clock_bits(Bytes unit) {
  std::vector<bool> clock;
  for (std::size_t i = 8 + 2; i < std::min<std::size_t>(unit.size(), max_filler_bytes) * 8; ++i)
    clock.push_back(byte_at(unit, i / 8) >> (7 - i % 8) & 1);
  return clock;
}

// vop_time_increment has a length that the layer's header tells; in a VOP that is not coded only a marker,
// vop_coded and the stuffing, a zero and ones, follow.
bool repeats(std::vector<bool> filler, const std::vector<bool>& entry) {
  const auto next = std::ranges::find(entry, false);
  while (!filler.empty() && filler.back()) filler.pop_back();
  if (filler.size() < 6 || filler[0] || entry.end() - next < 2) return false;
  filler.pop_back();
  const bool coded = filler.back();
  filler.back() = true; // As the coded VOP has it.
  return !coded && std::equal(filler.begin(), filler.end(), next,
                              next + std::min(std::ssize(filler), entry.end() - next));
}

} // namespace

/// What one packet holds.
struct Mpeg4Headers::Planes {
  int count = 0;
  std::uint32_t types[2] = {}; ///< Of the first two: I, P, B, S.
  std::size_t first_bytes = 0; ///< From the first one's start code on.
  std::vector<bool> clock;     ///< Of the first.
  bool closed = false;
  Bytes layer, user_data; ///< Headers before the first, from behind their start codes on.

  bool is_tiny() const { return count == 1 && first_bytes <= max_filler_bytes; }
  bool is_kept(int which) const { return types[which] == intra_plane || types[which] == bidirectional_plane; }
};

Mpeg4Headers::Mpeg4Headers(Bytes given) {
  const Bytes taken = given.first(std::min(given.size(), max_given_bytes));
  given_.assign(taken.begin(), taken.end());
}

Mpeg4Headers::Planes Mpeg4Headers::read(Bytes bytes) {
  Planes seen;
  StartCodes codes(bytes);
  bool in_user_data = false;
  while (const auto unit = codes.next()) {
    const std::uint8_t code = byte_at(*unit, 0);
    BitReader bits(unit->subspan(1));
    if (in_user_data && (code == 0xb3 || code == 0xb6)) {
      seen.user_data = seen.user_data.first(seen.user_data.size() - unit->size() - 3);
      in_user_data = false;
    }
    if (code == 0xb3) { // Group of VOPs: time_code with its marker, then closed_gov.
      bits.skip(18);
      seen.closed = bits.flag();
    }
    if (seen.count == 0 && code >= 0x20 && code <= 0x2f) seen.layer = unit->first(start_code_at(*unit, 0));
    if (seen.count == 0 && code == 0xb2 && seen.user_data.empty()) {
      seen.user_data = *unit;
      in_user_data = true;
    }
    if (code != 0xb6) continue;
    if (seen.count < 2) seen.types[seen.count] = bits.bits(2);
    if (seen.count++ > 0) continue;
    seen.first_bytes = unit->size() + 3;
    seen.clock = clock_bits(*unit);
  }
  return seen;
}

// User data says which encoder's faults a decoder allows for, and whether pictures are packed.
bool Mpeg4Headers::knows(Bytes header) const {
  if (header.empty()) return true;
  return header.size() <= max_header_bytes &&
         std::search(given_.begin(), given_.end(), header.begin(), header.end()) != given_.end();
}

EntryPoint Mpeg4Headers::entry_of(const Planes& seen) const {
  if (seen.count == 0 || seen.types[0] != intra_plane) return EntryPoint::none;
  const bool lacks_layer = layer_changes_ && seen.layer.empty();
  const bool lacks_user_data = user_data_changes_ && seen.user_data.empty();
  if (lacks_layer || lacks_user_data || seen.count > 2) return EntryPoint::inexact;
  return seen.closed ? EntryPoint::clean : EntryPoint::open;
}

// See Note [Packed pictures].
void Mpeg4Headers::follow_entry(const Planes& seen, bool waited) {
  if (entry_ < 0 || seen.count == 0) return;
  const bool between = seen.types[0] == bidirectional_plane && seen.count == 1;
  if (waited ? between : seen.is_tiny() || between) return;
  const bool fills = waited && !waits_ && seen.is_tiny();
  if (fills && repeats(seen.clock, entry_clock_)) return;
  if (waited || seen.types[0] == bidirectional_plane) inexact_.push_back(entry_);
  entry_ = -1;
}

PacketTraits Mpeg4Headers::scan(const Packet& packet) {
  ++ordinal_;
  PacketTraits traits;
  if (packet.bytes.empty()) return traits;
  const Planes seen = read(packet.bytes);
  const bool waited = waits_;
  // Which pictures wait is the word of FFmpeg's decoder; that one did is not sure where others were lost.
  const bool keeps_first = waited && packet.bytes.size() > max_ignored_bytes && seen.is_kept(0);
  waits_ = seen.count > 0 && (keeps_first || (seen.count > 1 && seen.is_kept(1)));
  follow_entry(seen, waited);
  traits.doubtful = waited || seen.count > 1 || seen.is_tiny();
  traits.other_picture = waited;
  if (!waited) {
    traits.start = seen.count == 0 && packet.key ? EntryPoint::inexact : entry_of(seen);
    traits.disposable = seen.count == 1 && seen.types[0] == bidirectional_plane;
    traits.reordered = traits.disposable;
    if (traits.start == EntryPoint::clean || traits.start == EntryPoint::open) {
      entry_ = ordinal_;
      entry_clock_ = seen.clock;
    }
  }
  layer_changes_ = layer_changes_ || !knows(seen.layer);
  user_data_changes_ = user_data_changes_ || !knows(seen.user_data);
  return traits;
}

} // namespace lanner
