#include "video/bitstream/h264_sps.h"

#include "video/bitstream/nal_units.h"

namespace lanner {

namespace {

constexpr std::uint32_t most_bits = 16; ///< Of frame_num and pic_order_cnt_lsb.
constexpr std::uint32_t high_profiles[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};

void skip_scaling_list(BitReader& bits, int size) {
  std::int64_t last = 8, next = 8;
  for (int i = 0; i < size && !bits.ended(); ++i) {
    if (next != 0) next = (last + bits.signed_exp_golomb()) & 255;
    if (next != 0) last = next;
  }
}

void read_chroma(BitReader& bits, H264Sequence& sequence) {
  const std::uint32_t chroma = sequence.chroma_format = bits.exp_golomb();
  if (chroma == 3) sequence.separate_planes = bits.flag();
  bits.exp_golomb();
  bits.exp_golomb();
  bits.skip(1);
  if (!bits.flag()) return;
  for (int i = 0; i < (chroma == 3 ? 12 : 8); ++i)
    if (bits.flag()) skip_scaling_list(bits, i < 6 ? 16 : 64);
}

void read_picture_order(BitReader& bits, H264Sequence& sequence) {
  const std::uint32_t type = sequence.order_type = bits.exp_golomb();
  if (type == 0) sequence.order_bits = static_cast<int>(4 + std::min(bits.exp_golomb(), most_bits - 4));
  if (type != 1) return;
  sequence.order_always_zero = bits.flag();
  bits.exp_golomb();
  bits.exp_golomb();
  const std::uint32_t cycle = bits.exp_golomb();
  for (std::uint32_t i = 0; i < cycle && !bits.ended(); ++i) bits.exp_golomb();
}

constexpr std::size_t most_bytes = 1024; ///< Of a set.

/// Up to frame_mbs_only_flag.
H264Sequence read_sequence(BitReader& bits) {
  bits.skip(8);
  const std::uint32_t profile = bits.bits(8);
  bits.skip(16);
  H264Sequence sequence;
  sequence.number = bits.exp_golomb();
  if (h264_tells_chroma(profile)) read_chroma(bits, sequence);
  sequence.frame_number_bits = static_cast<int>(4 + std::min(bits.exp_golomb(), most_bits - 4));
  read_picture_order(bits, sequence);
  bits.exp_golomb();
  bits.skip(1);
  bits.exp_golomb();
  bits.exp_golomb();
  const bool frames_only = bits.flag();
  sequence.fields = !frames_only || bits.ended();
  return sequence;
}

} // namespace

bool h264_tells_chroma(std::uint32_t profile) {
  return std::ranges::find(high_profiles, profile) != std::end(high_profiles);
}

H264Sequence h264_sequence(Bytes unit) {
  const std::vector<std::byte> head = unescaped(unit, most_bytes);
  BitReader bits(head);
  return read_sequence(bits);
}

std::optional<ColorCodes> h264_colors(Bytes unit) {
  const std::vector<std::byte> head = unescaped(unit, most_bytes);
  BitReader bits(head);
  if (read_sequence(bits).fields) bits.skip(1); // mb_adaptive_frame_field_flag
  bits.skip(1);                                 // direct_8x8_inference_flag
  if (bits.flag())
    for (int i = 0; i < 4; ++i) bits.exp_golomb(); // Cropping.
  return bits.flag() ? read_color_codes(bits) : std::nullopt;
}

} // namespace lanner
