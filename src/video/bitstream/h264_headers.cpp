#include "video/bitstream/h264_headers.h"

#include <string_view>

#include "video/bitstream/h264_sps.h"
#include "video/bitstream/nal_units.h"
#include "video/bitstream/parameter_sets.h"

namespace lanner {
namespace {

constexpr unsigned extended_profile = 88;
constexpr std::size_t max_bytes = 32; ///< Of a set, up to what is asked for.

bool has_slice_groups(Bytes picture_set) {
  BitReader bits(picture_set);
  bits.exp_golomb(); // pic_parameter_set_id
  bits.exp_golomb(); // seq_parameter_set_id
  bits.skip(2);      // entropy_coding_mode_flag, bottom_field_pic_order_in_frame_present_flag
  return bits.exp_golomb() > 0;
}

constexpr const char* extended = "the Extended profile (data partitioning, SP and SI slices)";

const char* uncommon_in_sequence_set(Bytes sequence_set) {
  BitReader bits(sequence_set);
  const unsigned profile = bits.bits(8);
  if (profile == extended_profile) return extended;
  if (!h264_tells_chroma(profile)) return "";
  bits.skip(16);     // constraint flags, level_idc
  bits.exp_golomb(); // seq_parameter_set_id
  const bool full_chroma = bits.exp_golomb() == 3;
  if (full_chroma && bits.bits(1)) return "separate colour planes";
  bits.exp_golomb(); // bit_depth_luma_minus8
  bits.exp_golomb(); // bit_depth_chroma_minus8
  return bits.bits(1) ? "lossless macroblocks" : "";
}

} // namespace

std::string uncommon_h264_feature(const StreamInfo& stream) {
  bool has_sequence = false;
  for (const Bytes set : given_units(stream.extradata, false)) {
    if (set.empty()) continue;
    const std::vector<std::byte> payload = unescaped(set.subspan(1), max_bytes);
    const int type = byte_at(set, 0) & 31;
    if (type == 7) {
      has_sequence = true;
      const std::string_view found = uncommon_in_sequence_set(payload);
      if (!found.empty()) return std::string(found);
    }
    if (type == 8 && has_slice_groups(payload)) return "flexible macroblock order";
  }
  return !has_sequence && stream.profile == "Extended" ? extended : "";
}

} // namespace lanner
