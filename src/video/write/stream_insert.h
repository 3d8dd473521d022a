#pragma once
// Parameter sets and SEI messages that are put into the packets of an encoder.

#include <span>
#include <string_view>
#include <vector>

#include <lanner/decoder.h>

#include "video/bitstream/bits.h"

namespace lanner {

/// Puts units into packets of H.264 and HEVC whose units have start codes in front, and of AV1 in the
/// low-overhead format.
class StreamInserter {
public:
  StreamInserter() = default;
  /// `codec` is FFmpeg's name; of others nothing can be put in.
  explicit StreamInserter(std::string_view codec);

  bool takes_headers() const noexcept { return codec_ != Codec::other; }
  bool has_headers(Bytes packet) const { return !headers_of(packet).empty(); }
  /// The parameter sets, or the sequence header, as they stand in a packet or in extradata without an avcC.
  std::vector<std::byte> headers_of(Bytes packet) const;
  /// The packet with `headers` in front, behind a delimiter, and `messages` before its first picture.
  std::vector<std::byte> inserted(Bytes packet, Bytes headers, std::span<const SeiMessage> messages) const;
  /// Throws Error{invalid_argument, unsupported} for messages that this codec does not have.
  void check_messages(std::span<const SeiMessage> messages) const;

private:
  enum class Codec : std::uint8_t { h264, hevc, av1, other };
  struct InsertOffsets {
    std::size_t headers, messages;
  };
  InsertOffsets offsets_in(Bytes packet) const;
  InsertOffsets offsets_in_units(Bytes packet) const;
  InsertOffsets offsets_in_obus(Bytes packet) const;
  std::vector<std::byte> sei_unit(std::span<const SeiMessage> messages) const;
  int type_of(Bytes unit) const;
  bool is_parameter_set(int type) const;
  bool is_picture(int type) const;
  int delimiter() const { return codec_ == Codec::h264 ? 9 : 35; }

  Codec codec_ = Codec::other;
};

} // namespace lanner
