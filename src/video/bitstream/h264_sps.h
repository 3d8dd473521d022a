#pragma once
// Facts of H.264 sequence parameter sets.

#include <optional>

#include "video/bitstream/bits.h"
#include "video/bitstream/color_codes.h"

namespace lanner {

/// Whether sequence parameter sets of this profile_idc tell chroma format and depths (H.264 7.3.2.1.1).
bool h264_tells_chroma(std::uint32_t profile);

/// What slice headers are read by.
struct H264Sequence {
  std::uint32_t number = 0;     ///< seq_parameter_set_id.
  bool separate_planes = false; ///< separate_colour_plane_flag.
  int frame_number_bits = 4;
  std::uint32_t chroma_format = 1; ///< chroma_format_idc.
  std::uint32_t order_type = 0;    ///< pic_order_cnt_type.
  int order_bits = 4;              ///< Of pic_order_cnt_lsb, for type 0.
  bool order_always_zero = false;  ///< delta_pic_order_always_zero_flag, for type 1.
  bool fields =
      true; ///< Pictures may be single fields: frame_mbs_only_flag is 0, or the unit cannot be read.
};
/// Of a sequence parameter set (H.264 7.3.2.1.1).
H264Sequence h264_sequence(Bytes unit);
/// The colour description in it (E.1.1); nothing where it has none.
std::optional<ColorCodes> h264_colors(Bytes unit);

} // namespace lanner
