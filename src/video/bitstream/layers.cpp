#include "video/bitstream/layers.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <vector>

#include "video/bitstream/bits.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/obu.h"
#include "video/bitstream/parameter_sets.h"

namespace lanner {

namespace {

// nal_unit_header_svc_extension follows the first byte: svc_extension_flag, idr_flag, priority_id (6 bits),
// no_inter_layer_pred_flag, dependency_id (3), quality_id (4), ...
int h264_layers(const StreamInfo& stream, Bytes packet) {
  std::bitset<128> seen;
  seen.set(0);
  NalWalker walker(packet, nal_length_bytes(stream));
  while (const auto unit = walker.next()) {
    if (unit->size() < 4) continue;
    const auto at = [&](std::size_t i) { return std::to_integer<unsigned>((*unit)[i]); };
    const unsigned type = at(0) & 31;
    if ((type == 14 || type == 20) && at(1) & 0x80) seen.set(at(2) & 0x7f);
  }
  return static_cast<int>(seen.count());
}

// The head of sequence_header_obu: seq_profile (3), still_picture, reduced_still_picture_header,
// timing_info_present_flag; without timing information initial_display_delay_present_flag and
// operating_points_cnt_minus_1 (5). With it 64 bits of clock, equal_picture_interval and its uvlc, and
// decoder_model_info come between.
std::optional<int> operating_points(Bytes sequence_header) {
  BitReader reader(sequence_header);
  reader.bits(4);
  if (reader.bits(1)) return 1;
  if (reader.bits(1)) {
    reader.bits(32);
    reader.bits(32);
    if (reader.bits(1)) reader.exp_golomb(); // uvlc
    if (reader.bits(1)) {
      reader.bits(32);
      reader.bits(15);
    }
  }
  reader.bits(1);
  const int points = static_cast<int>(reader.bits(5)) + 1;
  return reader.ended() ? std::nullopt : std::optional(points);
}

std::optional<int> av1_layers(Bytes units) {
  ObuWalker walker(units);
  while (const auto unit = walker.next())
    if (unit->type == ObuType::sequence_header) return operating_points(unit->payload);
  return std::nullopt;
}

/// Of a SEI unit: payload types, each followed by a size and so many bytes.
bool tells_of_alpha(Bytes unit) {
  constexpr std::size_t header = 2, alpha_channel_info = 165;
  const std::vector<std::byte> content = unescaped(unit.subspan(header));
  std::size_t at = 0;
  const auto sum = [&] {
    std::size_t total = 0;
    while (at < content.size() && byte_at(content, at) == 0xff) total += 0xff, ++at;
    return total + byte_at(content, at++);
  };
  while (at + 2 < content.size()) {
    const std::size_t type = sum(), size = sum();
    if (type == alpha_channel_info) return !(byte_at(content, at) & 0x80); // alpha_channel_cancel_flag
    if (size > content.size()) return false;
    at += size;
  }
  return false;
}

bool is_alpha_unit(Bytes unit) {
  constexpr int prefix_sei = 39;
  return unit.size() > 2 && (byte_at(unit, 0) >> 1 & 63) == prefix_sei && tells_of_alpha(unit);
}

} // namespace

bool has_alpha_layer(const StreamInfo& stream, Bytes first_packet) {
  if (stream.codec != "hevc") return false;
  for (const Bytes unit : given_units(stream.extradata, true))
    if (is_alpha_unit(unit)) return true;
  NalWalker walker(first_packet, nal_length_bytes(stream));
  while (const auto unit = walker.next())
    if (is_alpha_unit(*unit)) return true;
  return false;
}

int count_layers(const StreamInfo& stream, Bytes first_packet) {
  if (stream.codec == "h264") return h264_layers(stream, first_packet);
  if (stream.codec != "av1") return 1;
  if (const auto layers = av1_layers(first_packet)) return *layers;
  // av1C has four bytes of its own before its units; where the container has none, the units stand alone.
  const Bytes extradata = stream.extradata;
  const bool av1c = extradata.size() >= 4 && extradata[0] == std::byte{0x81};
  return av1_layers(av1c ? extradata.subspan(4) : extradata).value_or(1);
}

} // namespace lanner
