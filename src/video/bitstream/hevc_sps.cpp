#include "video/bitstream/hevc_sps.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "video/bitstream/nal_units.h"

namespace lanner {

namespace {

constexpr std::size_t profile_bits = 88, level_bits = 8;
constexpr std::size_t most_bytes = 2048; ///< Of a set.

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

namespace {

struct HevcPictures {
  std::uint32_t reordered = 0;
  int order_bits = 0; ///< Of pic_order_cnt_lsb.
};

/// From a set's NAL header up to what is told of its sub-layers.
HevcPictures read_pictures(BitReader& bits) {
  bits.skip(16); // NAL header
  const std::uint32_t lower_layers = read_hevc_sps_head(bits).lower_layers;
  if (bits.exp_golomb() == 3) bits.skip(1);
  bits.exp_golomb(); // width
  bits.exp_golomb(); // height
  if (bits.flag())
    for (int i = 0; i < 4; ++i) bits.exp_golomb(); // Conformance window.
  bits.exp_golomb();                               // bit_depth_luma_minus8
  bits.exp_golomb();                               // bit_depth_chroma_minus8
  HevcPictures pictures;
  pictures.order_bits = static_cast<int>(4 + std::min(bits.exp_golomb(), 12u));
  const bool each_layer = bits.flag();
  for (std::uint32_t i = each_layer ? 0 : lower_layers; i <= lower_layers; ++i) {
    bits.exp_golomb(); // sps_max_dec_pic_buffering_minus1
    pictures.reordered = bits.exp_golomb();
    bits.exp_golomb(); // sps_max_latency_increase_plus1
  }
  return pictures;
}

/// scaling_list_data() (7.3.4).
void skip_scaling_lists(BitReader& bits) {
  for (int size = 0; size < 4; ++size)
    for (int matrix = 0; matrix < 6; matrix += size == 3 ? 3 : 1) {
      if (!bits.flag()) {
        bits.exp_golomb(); // scaling_list_pred_matrix_id_delta
        continue;
      }
      const int count = std::min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0);
      for (int i = 0; i < count && !bits.ended(); ++i) bits.signed_exp_golomb();
    }
}

constexpr std::uint32_t most_references = 16, most_sets = 64;

/// Distances of pictures that one may refer to, in the order of st_ref_pic_set(): those before it, then those
/// behind, each from the nearest on.
using Distances = std::vector<std::int64_t>;

/// With inter_ref_pic_set_prediction_flag, of the set before (7.4.8).
Distances predicted_distances(BitReader& bits, const Distances& before) {
  const bool back = bits.flag(); // delta_rps_sign
  const std::int64_t size = std::int64_t{bits.exp_golomb()} + 1, step = back ? -size : size;
  Distances behind, found;
  for (std::size_t i = 0; i <= before.size(); ++i) {
    const bool used = bits.flag();
    if (!used && !bits.flag()) continue; // use_delta_flag
    const std::int64_t distance = (i < before.size() ? before[i] : 0) + step;
    if (distance < 0) found.push_back(distance);
    if (distance > 0) behind.push_back(distance);
  }
  std::ranges::sort(found, std::greater());
  std::ranges::sort(behind);
  found.insert(found.end(), behind.begin(), behind.end());
  return found;
}

Distances told_distances(BitReader& bits) {
  const std::uint32_t before = std::min(bits.exp_golomb(), most_references);
  const std::uint32_t behind = std::min(bits.exp_golomb(), most_references);
  Distances found;
  for (const auto& [count, sign] : {std::pair{before, -1}, std::pair{behind, 1}}) {
    std::int64_t distance = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      distance += sign * (std::int64_t{bits.exp_golomb()} + 1);
      bits.skip(1); // used_by_curr_pic_flag
      found.push_back(distance);
    }
  }
  return found;
}

void skip_reference_sets(BitReader& bits, int order_bits) {
  const std::uint32_t sets = std::min(bits.exp_golomb(), most_sets);
  Distances last;
  for (std::uint32_t i = 0; i < sets && !bits.ended(); ++i)
    last = i > 0 && bits.flag() ? predicted_distances(bits, last) : told_distances(bits);
  if (!bits.flag()) return; // long_term_ref_pics_present_flag
  const std::uint32_t count = std::min(bits.exp_golomb(), 32u);
  for (std::uint32_t i = 0; i < count; ++i) bits.skip(static_cast<std::size_t>(order_bits) + 1);
}

} // namespace

bool hevc_reorders(Bytes unit) {
  const std::vector<std::byte> head = unescaped(unit, most_bytes);
  BitReader bits(head);
  return read_pictures(bits).reordered > 0 && !bits.ended();
}

std::optional<ColorCodes> hevc_colors(Bytes unit) {
  const std::vector<std::byte> head = unescaped(unit, most_bytes);
  BitReader bits(head);
  const HevcPictures pictures = read_pictures(bits);
  for (int i = 0; i < 6; ++i) bits.exp_golomb(); // Sizes of blocks.
  if (bits.flag() && bits.flag()) skip_scaling_lists(bits);
  bits.skip(2); // amp_enabled_flag, sample_adaptive_offset_enabled_flag
  if (bits.flag()) {
    bits.skip(8); // Depths of PCM.
    bits.exp_golomb();
    bits.exp_golomb();
    bits.skip(1);
  }
  skip_reference_sets(bits, pictures.order_bits);
  bits.skip(2); // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
  return bits.flag() ? read_color_codes(bits) : std::nullopt;
}

} // namespace lanner
