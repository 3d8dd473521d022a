#include "video/bitstream/h264_slice_qp.h"

#include <vector>

#include "video/bitstream/nal_units.h"

namespace lanner {

namespace {

constexpr int non_idr = 1, idr = 5, sequence_set = 7, picture_set = 8; // nal_unit_type, H.264 table 7-1.
constexpr std::uint32_t p_slice = 0, b_slice = 1, i_slice = 2;         // slice_type, table 7-6.
constexpr std::uint32_t most_references = 32;
constexpr std::size_t most_bytes = 1024; ///< Of a slice, which its header fits in.

int type_of(Bytes unit) {
  return byte_at(unit, 0) & 31;
}

/// ref_pic_list_modification() of one list (7.3.3.1).
void skip_modification(BitReader& bits) {
  constexpr std::uint32_t end = 3;
  if (!bits.flag()) return;
  while (!bits.ended() && bits.exp_golomb() != end) bits.exp_golomb();
}

/// pred_weight_table() of one list (7.3.3.2).
void skip_weights(BitReader& bits, std::uint32_t references, bool chroma) {
  const auto pair = [&](int count) {
    if (!bits.flag()) return;
    for (int i = 0; i < 2 * count; ++i) bits.signed_exp_golomb();
  };
  for (std::uint32_t i = 0; i < references && !bits.ended(); ++i) {
    pair(1);
    if (chroma) pair(2);
  }
}

/// dec_ref_pic_marking() (7.3.3.3).
void skip_marking(BitReader& bits, bool is_idr) {
  if (is_idr) return bits.skip(2);
  if (!bits.flag()) return;
  while (!bits.ended()) {
    const std::uint32_t operation = bits.exp_golomb();
    if (operation == 0) return;
    if (operation != 5) bits.exp_golomb();
    if (operation == 3) bits.exp_golomb();
  }
}

} // namespace

struct H264SliceQp::Slice {
  bool is_idr = false, is_reference = false;
  std::uint32_t type = 0;
  H264Sequence sequence;
  Picture picture;
};

void H264SliceQp::see(Bytes units) {
  NalWalker walker(units, 0);
  while (const std::optional<Bytes> unit = walker.next()) {
    if (type_of(*unit) == sequence_set) {
      const H264Sequence sequence = h264_sequence(*unit);
      sequences_[sequence.number] = sequence;
    }
    if (type_of(*unit) == picture_set) see_picture(*unit);
  }
}

void H264SliceQp::see_picture(Bytes unit) {
  const std::vector<std::byte> head = unescaped(unit, most_bytes);
  BitReader bits(head);
  bits.skip(8);
  const std::uint32_t number = bits.exp_golomb();
  Picture picture;
  picture.sequence = bits.exp_golomb();
  picture.arithmetic = bits.flag();
  picture.bottom_order = bits.flag();
  picture.slice_groups = bits.exp_golomb() > 0;
  for (std::uint32_t& count : picture.references) count = bits.exp_golomb() + 1;
  picture.weighted = bits.flag();
  picture.weighted_b = bits.bits(2);
  picture.qp = 26 + bits.signed_exp_golomb();
  bits.signed_exp_golomb(); // pic_init_qs_minus26
  bits.signed_exp_golomb(); // chroma_qp_index_offset
  bits.skip(2);             // deblocking_filter_control_present_flag, constrained_intra_pred_flag
  picture.redundant = bits.flag();
  pictures_[number] = picture;
}

bool H264SliceQp::skip_to_qp(BitReader& bits, Slice& slice) const {
  const H264Sequence& sequence = slice.sequence;
  const Picture& picture = slice.picture;
  if (sequence.separate_planes) bits.skip(2);
  bits.skip(static_cast<std::size_t>(sequence.frame_number_bits));
  const bool field = sequence.fields && bits.flag();
  if (field) bits.skip(1);
  if (slice.is_idr) bits.exp_golomb(); // idr_pic_id
  const bool both = picture.bottom_order && !field;
  if (sequence.order_type == 0) {
    bits.skip(static_cast<std::size_t>(sequence.order_bits));
    if (both) bits.signed_exp_golomb();
  }
  if (sequence.order_type == 1 && !sequence.order_always_zero)
    for (int i = 0; i < (both ? 2 : 1); ++i) bits.signed_exp_golomb();
  if (picture.redundant) bits.exp_golomb();
  const bool inter = slice.type != i_slice, two_lists = slice.type == b_slice;
  if (two_lists) bits.skip(1); // direct_spatial_mv_pred_flag
  std::uint32_t references[2] = {picture.references[0], picture.references[1]};
  if (inter && bits.flag())
    for (int list = 0; list < (two_lists ? 2 : 1); ++list) references[list] = bits.exp_golomb() + 1;
  if (references[0] > most_references || references[1] > most_references) return false;
  for (int list = 0; inter && list < (two_lists ? 2 : 1); ++list) skip_modification(bits);
  if ((picture.weighted && slice.type == p_slice) || (picture.weighted_b == 1 && two_lists)) {
    const bool chroma = sequence.chroma_format != 0 && !sequence.separate_planes;
    for (int i = 0; i < (chroma ? 2 : 1); ++i) bits.exp_golomb(); // Denominators.
    for (int list = 0; list < (two_lists ? 2 : 1); ++list) skip_weights(bits, references[list], chroma);
  }
  if (slice.is_reference) skip_marking(bits, slice.is_idr);
  if (picture.arithmetic && inter) bits.exp_golomb(); // cabac_init_idc
  return !bits.ended();
}

std::optional<std::int64_t> H264SliceQp::of_slice(Bytes unit) const {
  const std::vector<std::byte> head = unescaped(unit, most_bytes);
  BitReader bits(head);
  Slice slice;
  slice.is_reference = (byte_at(unit, 0) >> 5 & 3) != 0;
  slice.is_idr = type_of(unit) == idr;
  bits.skip(8);
  bits.exp_golomb(); // first_mb_in_slice
  slice.type = bits.exp_golomb() % 5;
  const auto picture = pictures_.find(bits.exp_golomb());
  if (slice.type > i_slice || picture == pictures_.end() || picture->second.slice_groups) return std::nullopt;
  const auto sequence = sequences_.find(picture->second.sequence);
  if (sequence == sequences_.end()) return std::nullopt;
  slice.picture = picture->second;
  slice.sequence = sequence->second;
  if (!skip_to_qp(bits, slice)) return std::nullopt;
  const std::int64_t delta = bits.signed_exp_golomb();
  return bits.ended() ? std::nullopt : std::optional(slice.picture.qp + delta);
}

std::optional<float> H264SliceQp::mean(Bytes packet) const {
  std::int64_t sum = 0, count = 0;
  NalWalker walker(packet, 0);
  while (const std::optional<Bytes> unit = walker.next()) {
    if (type_of(*unit) != non_idr && type_of(*unit) != idr) continue;
    const std::optional<std::int64_t> qp = of_slice(*unit);
    if (!qp) return std::nullopt;
    sum += *qp, ++count;
  }
  if (count == 0) return std::nullopt;
  return static_cast<float>(sum) / static_cast<float>(count);
}

} // namespace lanner
