#include "video/bitstream/bitstream.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "video/bitstream/av1_units.h"
#include "video/bitstream/h264_sps.h"
#include "video/bitstream/hevc_sps.h"
#include "video/bitstream/mpeg_headers.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/parameter_sets.h"

namespace lanner {

namespace {

// Whether an SEI unit holds a recovery point (payload type 6) that is reached at once and exactly: it begins
// with recovery_frame_cnt as ue(v), in HEVC recovery_poc_cnt as se(v), `1` for zero, and exact_match_flag.
enum class Recovery { none, inexact, exact };
Recovery recovery_point(Bytes unit, std::size_t header_bytes) {
  std::size_t i = header_bytes;
  while (i + 2 < unit.size()) {
    std::size_t type = 0, size = 0;
    for (; i < unit.size() && byte_at(unit, i) == 0xff; ++i) type += 0xff;
    if (i >= unit.size()) return Recovery::none;
    type += byte_at(unit, i++);
    for (; i < unit.size() && byte_at(unit, i) == 0xff; ++i) size += 0xff;
    if (i >= unit.size()) return Recovery::none;
    size += byte_at(unit, i++);
    if (size > unit.size() - i) return Recovery::none;
    if (type == 6) return size > 0 && (byte_at(unit, i) & 0xc0) == 0xc0 ? Recovery::exact : Recovery::inexact;
    i += size;
  }
  return Recovery::none;
}

/// Tells which slices of H.264 are of a single field (H.264 7.3.3).
class H264Fields {
public:
  enum Structure : unsigned { frame = 0, top = 1, bottom = 2, unknown = 4 };

  /// Takes note of parameter sets.
  void see(Bytes unit) {
    const int type = byte_at(unit, 0) & 31;
    if (type == 7 || type == 15) {
      const H264Sequence sequence = h264_sequence(unit);
      any_ = any_ || sequence.fields;
      if (type == 7 && sequence.number <= most_sequences) sequences_[sequence.number] = sequence;
    }
    if (type != 8) return;
    const std::vector<std::byte> head = unescaped(unit.subspan(1), 16);
    BitReader bits(head);
    const std::uint32_t number = bits.exp_golomb(), sequence = bits.exp_golomb();
    if (number <= most_pictures) sequence_of_[number] = sequence;
  }
  /// Whether some picture may be one.
  bool any() const noexcept { return any_; }

  Structure of(Bytes slice) const {
    if (!any_) return frame;
    const std::vector<std::byte> head = unescaped(slice.subspan(1), 32);
    BitReader bits(head);
    bits.exp_golomb(); // first_mb_in_slice
    bits.exp_golomb(); // slice_type
    const auto picture = sequence_of_.find(bits.exp_golomb());
    if (picture == sequence_of_.end()) return unknown;
    const auto sequence = sequences_.find(picture->second);
    if (sequence == sequences_.end()) return unknown;
    if (!sequence->second.fields) return frame;
    if (sequence->second.separate_planes) bits.skip(2);
    bits.skip(static_cast<std::size_t>(sequence->second.frame_number_bits));
    if (!bits.flag()) return frame;
    return bits.flag() ? bottom : top;
  }

private:
  static constexpr std::uint32_t most_sequences = 31, most_pictures = 255;
  std::map<std::uint32_t, H264Sequence> sequences_;
  std::map<std::uint32_t, std::uint32_t> sequence_of_; ///< By picture parameter set.
  bool any_ = false;
};

class H264Scanner {
public:
  explicit H264Scanner(const StreamInfo& stream)
      : length_bytes_(nal_length_bytes(stream)), sets_(given_units(stream.extradata, false), false) {
    for (const Bytes unit : given_units(stream.extradata, false)) fields_.see(unit);
  }

  PacketTraits scan(const Packet& packet) {
    const std::int64_t ordinal = count_++;
    PacketTraits traits{EntryPoint::none, false}; // No slice, no picture.
    Recovery recovery = Recovery::none;
    bool referenced = false, instantaneous = false;
    unsigned structures = H264Fields::frame;
    NalWalker walker(packet.bytes, length_bytes_);
    while (const auto unit = walker.next()) {
      if (unit->empty()) continue;
      const int type = byte_at(*unit, 0) & 31;
      sets_.see(*unit, ordinal);
      fields_.see(*unit);
      if (type == 6 && recovery != Recovery::exact) recovery = std::max(recovery, recovery_point(*unit, 1));
      if (type != 1 && type != 2 && type != 5) continue;
      if (!traits.shown) {
        instantaneous = type == 5;
        traits.reordered = is_bidirectional(*unit);
      }
      traits.shown = true;
      structures |= fields_.of(*unit);
      referenced = referenced || (byte_at(*unit, 0) & 0x60) != 0;
    }
    if (!traits.shown) return traits;
    traits.disposable = !referenced && !fields_.any();
    // A field alone is half of a frame, which the packet before or behind it completes.
    traits.doubtful = structures != H264Fields::frame && structures != (H264Fields::top | H264Fields::bottom);
    traits.start = instantaneous                                 ? EntryPoint::clean
                   : recovery == Recovery::exact                 ? EntryPoint::recovery
                   : packet.key || recovery == Recovery::inexact ? EntryPoint::inexact
                                                                 : EntryPoint::none;
    if (instantaneous || recovery == Recovery::exact) sets_.see_entry(ordinal);
    return traits;
  }

  std::vector<std::int64_t> inexact_entries() const { return sets_.dependent_entries(); }

private:
  // What is predicted from two pictures mostly lies between them.
  static bool is_bidirectional(Bytes slice) {
    BitReader bits(slice.subspan(1));
    bits.exp_golomb(); // first_mb_in_slice
    return bits.exp_golomb() % 5 == 1;
  }

  int length_bytes_;
  ParameterSets sets_;
  std::int64_t count_ = 0;
  H264Fields fields_;
};

class HevcScanner {
public:
  explicit HevcScanner(const StreamInfo& stream)
      : length_bytes_(nal_length_bytes(stream)), sets_(given_units(stream.extradata, true), true),
        fields_(stream.interlaced) {
    for (const Bytes unit : given_units(stream.extradata, true)) see_sequence(unit);
  }

  PacketTraits scan(const Packet& packet) {
    const std::int64_t ordinal = count_++;
    PacketTraits traits;
    bool seen = false;
    Recovery recovery = Recovery::none;
    NalWalker walker(packet.bytes, length_bytes_);
    while (const auto unit = walker.next()) {
      if (unit->size() < 2 || layer_id(*unit) > 0) continue;
      const int type = byte_at(*unit, 0) >> 1 & 63;
      sets_.see(*unit, ordinal);
      see_sequence(*unit);
      if (type == 36 || type == 37) sequence_begins_ = true; // End of sequence, end of bitstream.
      if (type == 39) recovery = std::max(recovery, recovery_point(*unit, 2));
      if (type > 31 || seen) continue;
      seen = true;
      read_picture(type, *unit, traits);
    }
    traits.shown = traits.shown && seen;
    if (seen && traits.start == EntryPoint::none && recovery != Recovery::none)
      traits.start = recovery == Recovery::exact ? EntryPoint::recovery : EntryPoint::inexact;
    if (seen && traits.start == EntryPoint::none && packet.key) traits.start = EntryPoint::inexact;
    if (traits.start != EntryPoint::none && traits.start != EntryPoint::inexact) sets_.see_entry(ordinal);
    return traits;
  }

  std::vector<std::int64_t> inexact_entries() const { return sets_.dependent_entries(); }
  bool reorders() const noexcept { return reorders_; }

private:
  void see_sequence(Bytes unit) {
    if ((byte_at(unit, 0) >> 1 & 63) == 33) reorders_ = reorders_ || hevc_reorders(unit);
  }
  static int layer_id(Bytes unit) { return (byte_at(unit, 0) & 1) << 5 | byte_at(unit, 1) >> 3; }

  void read_picture(int type, Bytes unit, PacketTraits& traits) {
    traits.layer = static_cast<std::uint8_t>(std::max(0, (byte_at(unit, 1) & 7) - 1));
    traits.disposable = type < 16 && type % 2 == 0 && !fields_; // Sub-layer non-reference pictures.
    if (type >= 16 && type <= 21) {                             // BLA, IDR, CRA.
      skips_leading_ = type <= 20 || sequence_begins_;
      sequence_begins_ = false;
      traits.start = type >= 21 ? EntryPoint::open : type <= 18 ? EntryPoint::broken_link : EntryPoint::clean;
    }
    if ((type == 8 || type == 9) && skips_leading_) traits.shown = false;
  }

  int length_bytes_;
  ParameterSets sets_;
  std::int64_t count_ = 0;
  bool fields_;
  bool reorders_ = false;
  bool sequence_begins_ = true; ///< The next random access picture has NoRaslOutputFlag.
  bool skips_leading_ = false;  ///< RASL pictures of the current one are not shown.
};

struct Vp8Scanner {
  PacketTraits scan(const Packet& packet) const {
    const std::uint8_t first = byte_at(packet.bytes, 0);
    return {first & 1 ? EntryPoint::none : EntryPoint::clean, (first & 0x10) != 0};
  }
};

// frame_marker, profile, show_existing_frame, frame_type, show_frame. A superframe, known by its last byte,
// always ends in a shown frame.
struct Vp9Scanner {
  PacketTraits scan(const Packet& packet) const {
    const Bytes bytes = packet.bytes;
    const bool superframe = (byte_at(bytes, bytes.size() - 1) & 0xe0) == 0xc0;
    const std::uint8_t first = byte_at(bytes, 0);
    const int profile = (first >> 5 & 1) | (first >> 3 & 2);
    const int shift = profile == 3 ? 1 : 0;
    const bool existing = first >> (3 - shift) & 1;
    const bool key = !existing && !(first >> (2 - shift) & 1);
    const bool shown = existing || first >> (1 - shift) & 1;
    return {key ? EntryPoint::clean : EntryPoint::none, superframe || shown};
  }
};

/// Codecs whose keyframes reset all state. H.263's do not: the rounding of the pictures before lives on.
struct ResettingScanner {
  PacketTraits scan(const Packet& packet) const {
    return {packet.key ? EntryPoint::clean : EntryPoint::none, true};
  }
};

struct OtherScanner {
  PacketTraits scan(const Packet& packet) const {
    return {packet.key ? EntryPoint::inexact : EntryPoint::none, true};
  }
};

constexpr std::string_view resetting_codecs[] = {
    "mjpeg",    "ffv1",   "prores",  "dnxhd",     "png",       "gif",  "huffyuv",  "ffvhuff",
    "rawvideo", "v210",   "utvideo", "qtrle",     "jpeg2000",  "cfhd", "magicyuv", "webp",
    "bmp",      "theora", "flv1",    "msmpeg4v2", "msmpeg4v3", "wmv1", "wmv2"};

using Scanner = std::variant<OtherScanner, ResettingScanner, H264Scanner, HevcScanner, Vp8Scanner, Vp9Scanner,
                             Av1Units, MpegHeaders, Mpeg4Headers>;

Scanner choose_scanner(const StreamInfo& stream) {
  if (stream.codec == "h264") return H264Scanner(stream);
  if (stream.codec == "hevc") return HevcScanner(stream);
  if (stream.codec == "vp8") return Vp8Scanner();
  if (stream.codec == "vp9") return Vp9Scanner();
  if (stream.codec == "av1") return Av1Units(stream.extradata);
  if (stream.codec == "mpeg1video" || stream.codec == "mpeg2video") return MpegHeaders();
  if (stream.codec == "mpeg4") return Mpeg4Headers(stream.extradata);
  if (std::find(std::begin(resetting_codecs), std::end(resetting_codecs), stream.codec) !=
      std::end(resetting_codecs))
    return ResettingScanner();
  return OtherScanner();
}

} // namespace

std::string_view to_string(EntryPoint entry) noexcept {
  switch (entry) {
  case EntryPoint::none:
    return "none";
  case EntryPoint::clean:
    return "clean";
  case EntryPoint::broken_link:
    return "broken_link";
  case EntryPoint::open:
    return "open";
  case EntryPoint::recovery:
    return "recovery";
  case EntryPoint::inexact:
    return "inexact";
  }
  return "?";
}

struct PacketScanner::State {
  Scanner scanner;
};

PacketScanner::PacketScanner(const StreamInfo& stream)
    : state_(std::make_unique<State>(State{choose_scanner(stream)})) {}
PacketScanner::~PacketScanner() = default;

PacketTraits PacketScanner::scan(const Packet& packet) {
  PacketTraits traits = std::visit([&](auto& scanner) { return scanner.scan(packet); }, state_->scanner);
  if (packet.bytes.empty()) traits = {EntryPoint::none, false};
  return traits;
}

bool PacketScanner::reorders() const noexcept {
  const auto* hevc = std::get_if<HevcScanner>(&state_->scanner);
  return hevc && hevc->reorders();
}

bool PacketScanner::knows_codec() const noexcept {
  return !std::holds_alternative<OtherScanner>(state_->scanner);
}

std::vector<std::int64_t> PacketScanner::inexact_entries() const {
  if (const auto* h264 = std::get_if<H264Scanner>(&state_->scanner)) return h264->inexact_entries();
  if (const auto* hevc = std::get_if<HevcScanner>(&state_->scanner)) return hevc->inexact_entries();
  if (const auto* mpeg4 = std::get_if<Mpeg4Headers>(&state_->scanner)) return mpeg4->inexact_entries();
  return {};
}

} // namespace lanner
