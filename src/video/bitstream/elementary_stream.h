#pragma once
// Packets of a container as the elementary stream that a hardware's parser reads.

#include <vector>

#include <lanner/packet.h>

#include "video/bitstream/bits.h"

namespace lanner {

/// What goes before the first packet: parameter sets and sequence headers of the extradata, H.264's and
/// HEVC's behind start codes (AV1 in ISOBMFF 2.3.3; SMPTE 421M Annex J; ISO/IEC 14496-2, 6.2.3).
std::vector<std::byte> stream_headers(const StreamInfo& stream);

/// Turns one stream's packets, given in file order, into elementary stream. Of scalable H.264 and HEVC the
/// base layer is kept.
class ElementaryStream {
public:
  explicit ElementaryStream(const StreamInfo& stream);

  /// The packet's piece, empty where it has none. Valid until the next call, and as long as the packet.
  Bytes convert(const Packet& packet);
  /// Whether a length inside the last packet led out of it; the piece has what is there.
  bool damaged() const noexcept { return damaged_; }
  /// Headers go before the next packet, as at the beginning.
  void restart();

private:
  enum class Framing { plain, nal_lengths, nal_start_codes, av1, mpeg2, mpeg4, vc1, jpeg };

  Bytes from_lengths(Bytes packet);
  Bytes from_start_codes(Bytes packet);
  Bytes base_of_start_codes(Bytes packet);
  Bytes from_mpeg4(Bytes packet);
  Bytes from_vc1(Bytes packet);
  Bytes from_jpeg(Bytes packet);
  Bytes with_headers(Bytes packet, bool has_own);
  void append_unit(Bytes unit);
  void append_headers();
  bool is_base(Bytes unit) const noexcept;
  bool is_parameter_set(Bytes unit) const noexcept;
  bool begins_sequence(Bytes unit) const noexcept;
  bool is_delimiter(Bytes unit) const noexcept;
  int type_of(Bytes unit) const noexcept;

  Framing framing_ = Framing::plain;
  bool hevc_ = false;
  bool layered_ = false;
  std::size_t length_bytes_ = 0;
  std::vector<std::byte> headers_;
  std::vector<std::byte> piece_;
  std::vector<std::byte> held_; ///< The second picture of an MPEG-4 packet.
  bool needs_headers_ = true;
  bool sets_in_band_ = false; ///< Packets bring parameter sets: those of the extradata may be outdated.
  bool damaged_ = false;
};

} // namespace lanner
