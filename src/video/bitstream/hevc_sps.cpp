#include "video/bitstream/hevc_sps.h"

#include "video/bitstream/nal_units.h"

namespace lanner {

namespace {

constexpr std::size_t profile_bits = 88, level_bits = 8;

// profile_tier_level() of H.265 7.3.3.
void skip_profiles(BitReader& bits, std::uint32_t lower_layers) {
  bits.skip(profile_bits + level_bits);
  bool profile[8] = {}, level[8] = {};
  for (std::uint32_t i = 0; i < lower_layers; ++i) {
    profile[i] = bits.flag();
    level[i] = bits.flag();
  }
  if (lower_layers > 0) bits.skip(2 * (8 - lower_layers));
  for (std::uint32_t i = 0; i < lower_layers; ++i)
    bits.skip((profile[i] ? profile_bits : 0) + (level[i] ? level_bits : 0));
}

} // namespace

HevcSpsHead read_hevc_sps_head(BitReader& bits) {
  HevcSpsHead head;
  bits.skip(4); // sps_video_parameter_set_id
  head.lower_layers = bits.bits(3);
  bits.skip(1);
  skip_profiles(bits, head.lower_layers);
  head.number = bits.exp_golomb();
  return head;
}

bool hevc_reorders(Bytes unit) {
  const std::vector<std::byte> head = unescaped(unit, 1024);
  BitReader bits(head);
  bits.skip(16); // NAL header
  const std::uint32_t lower_layers = read_hevc_sps_head(bits).lower_layers;
  if (bits.exp_golomb() == 3) bits.skip(1);
  bits.exp_golomb(); // width
  bits.exp_golomb(); // height
  if (bits.flag())
    for (int i = 0; i < 4; ++i) bits.exp_golomb(); // Conformance window.
  bits.exp_golomb();                               // bit_depth_luma_minus8
  bits.exp_golomb();                               // bit_depth_chroma_minus8
  bits.exp_golomb();                               // log2_max_pic_order_cnt_lsb_minus4
  const bool each_layer = bits.flag();
  std::uint32_t reordered = 0;
  for (std::uint32_t i = each_layer ? 0 : lower_layers; i <= lower_layers; ++i) {
    bits.exp_golomb(); // sps_max_dec_pic_buffering_minus1
    reordered = bits.exp_golomb();
    bits.exp_golomb(); // sps_max_latency_increase_plus1
  }
  return reordered > 0 && !bits.ended();
}

} // namespace lanner
