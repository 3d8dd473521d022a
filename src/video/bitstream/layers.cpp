#include "video/bitstream/layers.h"

#include <algorithm>
#include <bitset>
#include <optional>

#include "video/bitstream/bits.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/obu.h"

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

} // namespace

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
