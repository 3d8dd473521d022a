#include "video/bitstream/elementary_stream.h"

#include <algorithm>
#include <utility>

#include "video/bitstream/jpeg_tables.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/obu.h"
#include "video/bitstream/parameter_sets.h"

namespace lanner {
namespace {

constexpr std::byte start_code[] = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};

void append(std::vector<std::byte>& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Place of the next start code whose last byte is in [first, last]; size() for none.
std::size_t find_start_code(Bytes bytes, unsigned first, unsigned last, std::size_t begin = 0) {
  for (std::size_t i = start_code_at(bytes, begin); i + 3 < bytes.size(); i = start_code_at(bytes, i + 3))
    if (byte_at(bytes, i + 3) >= first && byte_at(bytes, i + 3) <= last) return i;
  return bytes.size();
}

bool has_av1_sequence_header(Bytes bytes) {
  ObuWalker walker(bytes);
  while (const auto unit = walker.next())
    if (unit->type == ObuType::sequence_header) return true;
  return false;
}

constexpr unsigned mpeg2_sequence = 0xb3, mpeg4_vop = 0xb6, vc1_sequence = 0x0f;
// A picture without coded blocks, which stands for one that came early, is no longer than this.
constexpr std::size_t max_empty_vop = 19;

} // namespace

std::vector<std::byte> stream_headers(const StreamInfo& stream) {
  const Bytes extradata = stream.extradata;
  const auto from = [&](std::size_t place) {
    const Bytes rest = extradata.subspan(std::min(place, extradata.size()));
    return std::vector<std::byte>(rest.begin(), rest.end());
  };
  if (stream.codec == "h264" || stream.codec == "hevc") {
    std::vector<std::byte> headers;
    for (const Bytes set : given_units(extradata, stream.codec == "hevc")) {
      append(headers, start_code);
      append(headers, set);
    }
    return headers;
  }
  if (stream.codec == "av1") // Four bytes of av1C before its OBUs.
    return from(!extradata.empty() && (byte_at(extradata, 0) & 0x80) ? 4 : 0);
  if (stream.codec == "vc1") return from(find_start_code(extradata, vc1_sequence, vc1_sequence));
  const bool by_start_codes =
      stream.codec == "mpeg4" || stream.codec == "mpeg1video" || stream.codec == "mpeg2video";
  if (by_start_codes) return from(find_start_code(extradata, 0, 255));
  return {};
}

ElementaryStream::ElementaryStream(const StreamInfo& stream) : headers_(stream_headers(stream)) {
  hevc_ = stream.codec == "hevc";
  layered_ = stream.layers > 1;
  if (stream.codec == "h264" || hevc_) {
    length_bytes_ = static_cast<std::size_t>(nal_length_bytes(stream));
    framing_ = length_bytes_ ? Framing::nal_lengths : Framing::nal_start_codes;
  } else if (stream.codec == "av1") {
    framing_ = Framing::av1;
  } else if (stream.codec == "mpeg1video" || stream.codec == "mpeg2video") {
    framing_ = Framing::mpeg2;
  } else if (stream.codec == "mpeg4") {
    framing_ = Framing::mpeg4;
  } else if (stream.codec == "vc1") {
    framing_ = Framing::vc1;
  } else if (stream.codec == "mjpeg") {
    framing_ = Framing::jpeg;
  }
}

void ElementaryStream::restart() {
  needs_headers_ = true;
  sets_in_band_ = false;
  held_.clear();
}

Bytes ElementaryStream::convert(const Packet& packet) {
  damaged_ = false;
  const Bytes bytes = packet.bytes;
  switch (framing_) {
  case Framing::nal_lengths:
    return from_lengths(bytes);
  case Framing::nal_start_codes:
    return from_start_codes(bytes);
  case Framing::av1:
    return with_headers(bytes, needs_headers_ && has_av1_sequence_header(bytes));
  case Framing::mpeg2:
    return with_headers(bytes, needs_headers_ &&
                                   find_start_code(bytes, mpeg2_sequence, mpeg2_sequence) < bytes.size());
  case Framing::mpeg4:
    return from_mpeg4(bytes);
  case Framing::vc1:
    return from_vc1(bytes);
  case Framing::jpeg:
    return from_jpeg(bytes);
  case Framing::plain:
    break;
  }
  return bytes;
}

Bytes ElementaryStream::with_headers(Bytes packet, bool has_own) {
  if (!std::exchange(needs_headers_, false) || has_own || headers_.empty()) return packet;
  piece_ = headers_;
  append(piece_, packet);
  return piece_;
}

int ElementaryStream::type_of(Bytes unit) const noexcept {
  return static_cast<int>(hevc_ ? byte_at(unit, 0) >> 1 & 63 : byte_at(unit, 0) & 31);
}

bool ElementaryStream::is_base(Bytes unit) const noexcept {
  if (hevc_) return unit.size() < 2 || ((byte_at(unit, 0) & 1) << 5 | byte_at(unit, 1) >> 3) == 0;
  const int type = type_of(unit);
  return type != 14 && type != 15 && type != 20 && type != 21;
}

bool ElementaryStream::is_parameter_set(Bytes unit) const noexcept {
  const int type = type_of(unit);
  return hevc_ ? type >= 32 && type <= 34 : type == 7 || type == 8;
}

bool ElementaryStream::begins_sequence(Bytes unit) const noexcept {
  const int type = type_of(unit);
  return hevc_ ? type >= 16 && type <= 23 : type == 5;
}

bool ElementaryStream::is_delimiter(Bytes unit) const noexcept {
  return type_of(unit) == (hevc_ ? 35 : 9);
}

void ElementaryStream::append_headers() {
  if (needs_headers_ || !sets_in_band_) append(piece_, headers_);
  needs_headers_ = false;
}

// Parameter sets stand before the first unit that may need them, behind the delimiter that begins an access
// unit.
void ElementaryStream::append_unit(Bytes unit) {
  if (is_parameter_set(unit)) sets_in_band_ = true;
  if ((needs_headers_ && !is_delimiter(unit)) || begins_sequence(unit)) append_headers();
  append(piece_, start_code);
  append(piece_, unit);
}

Bytes ElementaryStream::from_lengths(Bytes packet) {
  piece_.clear();
  bool begun = false;
  while (packet.size() > length_bytes_) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < length_bytes_; ++i) size = size << 8 | byte_at(packet, i);
    packet = packet.subspan(length_bytes_);
    damaged_ = damaged_ || size > packet.size();
    const Bytes unit = packet.first(std::min(size, packet.size()));
    packet = packet.subspan(unit.size());
    if (unit.empty() || !is_base(unit)) continue;
    // A picture of several slices begins its sequence once.
    const bool repeats = begun && begins_sequence(unit);
    begun = begun || begins_sequence(unit);
    if (repeats) {
      append(piece_, start_code);
      append(piece_, unit);
    } else {
      append_unit(unit);
    }
  }
  return piece_;
}

Bytes ElementaryStream::from_start_codes(Bytes packet) {
  if (layered_) return base_of_start_codes(packet);
  if (!needs_headers_) return packet;
  bool own = false;
  for (std::size_t at = start_code_at(packet, 0); at + 3 < packet.size() && !own;
       at = start_code_at(packet, at + 3))
    own = type_of(packet.subspan(at + 3)) == (hevc_ ? 33 : 7);
  return with_headers(packet, own);
}

Bytes ElementaryStream::base_of_start_codes(Bytes packet) {
  piece_.clear();
  if (std::exchange(needs_headers_, false)) append(piece_, headers_);
  NalWalker walker(packet, 0);
  while (const auto unit = walker.next()) {
    if (unit->empty() || !is_base(*unit)) continue;
    append(piece_, start_code);
    append(piece_, *unit);
  }
  return piece_;
}

// Note [Packed B-frames]
// Some MPEG-4 files put a picture and the B-frame behind it in one packet, and a picture without blocks in
// the next. The B-frame belongs to that one: each packet gives one picture then, as FFmpeg gives them.
Bytes ElementaryStream::from_mpeg4(Bytes packet) {
  std::vector<std::byte> second;
  const std::size_t first_vop = find_start_code(packet, mpeg4_vop, mpeg4_vop);
  const std::size_t next_vop = first_vop < packet.size()
                                   ? find_start_code(packet, mpeg4_vop, mpeg4_vop, first_vop + 4)
                                   : packet.size();
  if (next_vop < packet.size()) {
    const Bytes rest = packet.subspan(next_vop);
    second.assign(rest.begin(), rest.end());
    packet = packet.first(next_vop);
  }
  const bool stands_for_held = !held_.empty() && second.empty() && packet.size() <= max_empty_vop;
  const std::vector<std::byte> held = std::exchange(held_, std::move(second));
  if (stands_for_held) {
    piece_ = held;
    return piece_;
  }
  return with_headers(packet, needs_headers_ && find_start_code(packet, 0x20, 0x2f) < packet.size());
}

Bytes ElementaryStream::from_vc1(Bytes packet) {
  const bool has_code = packet.size() > 3 && start_code_at(packet.first(3), 0) == 0;
  const bool own = has_code && byte_at(packet, 3) == vc1_sequence;
  if (has_code) return with_headers(packet, own);
  piece_.clear();
  if (std::exchange(needs_headers_, false)) append(piece_, headers_);
  append(piece_, Bytes(start_code).subspan(1));
  piece_.push_back(std::byte{0x0d}); // A frame.
  append(piece_, packet);
  return piece_;
}

// Hardware knows no tables but those of the picture.
Bytes ElementaryStream::from_jpeg(Bytes packet) {
  constexpr unsigned tables = 0xc4, scan = 0xda;
  bool complete = packet.size() < 4 || byte_at(packet, 0) != 0xff || byte_at(packet, 1) != 0xd8;
  for (std::size_t i = 2; !complete && i + 4 <= packet.size();) {
    const unsigned marker = byte_at(packet, i + 1);
    complete = byte_at(packet, i) != 0xff || marker == tables;
    if (marker == scan) break;
    i += 2 + (byte_at(packet, i + 2) << 8 | byte_at(packet, i + 3));
  }
  if (complete) return packet;
  const Bytes typical = std::as_bytes(std::span(typical_huffman_tables));
  piece_.assign(packet.begin(), packet.begin() + 2);
  append(piece_, typical);
  append(piece_, packet.subspan(2));
  return piece_;
}

} // namespace lanner
