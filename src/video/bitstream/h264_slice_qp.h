#pragma once
// Quantisation parameters of H.264 pictures, by their slice headers.

#include <cstdint>
#include <map>
#include <optional>

#include <lanner/packet.h>

#include "video/bitstream/h264_sps.h"

namespace lanner {

/// Reads the slices of one stream whose units stand behind start codes, as encoders give them.
class H264SliceQp {
public:
  /// Takes note of the parameter sets among these units.
  void see(Bytes units);
  /// Mean of SliceQP_Y (H.264 7.4.3) over the slices of a picture, after see() of its packet; nothing if
  /// there is none that can be read.
  std::optional<float> mean(Bytes packet) const;

private:
  /// Of a picture parameter set (H.264 7.3.2.2).
  struct Picture {
    std::uint32_t sequence = 0; ///< seq_parameter_set_id.
    bool arithmetic = false;    ///< entropy_coding_mode_flag.
    bool bottom_order = false;  ///< bottom_field_pic_order_in_frame_present_flag.
    bool slice_groups = false;
    std::uint32_t references[2] = {1, 1}; ///< num_ref_idx_l0 and l1_default_active.
    bool weighted = false;
    std::uint32_t weighted_b = 0; ///< weighted_bipred_idc.
    std::int64_t qp = 26;
    bool redundant = false; ///< redundant_pic_cnt_present_flag.
  };
  struct Slice;

  void see_picture(Bytes unit);
  std::optional<std::int64_t> of_slice(Bytes unit) const;
  /// Everything up to slice_qp_delta. False for slices that are not read.
  bool skip_to_qp(BitReader& bits, Slice& slice) const;

  std::map<std::uint32_t, H264Sequence> sequences_;
  std::map<std::uint32_t, Picture> pictures_;
};

} // namespace lanner
