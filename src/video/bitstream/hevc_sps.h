#pragma once
// H.265's sequence parameter sets.

#include <optional>

#include "video/bitstream/bits.h"
#include "video/bitstream/color_codes.h"

namespace lanner {

/// What stands before a set's own content.
struct HevcSpsHead {
  std::uint32_t lower_layers = 0; ///< sps_max_sub_layers_minus1
  std::uint32_t number = 0;       ///< sps_seq_parameter_set_id
};
/// Reads up to the set's number, which lies behind profile_tier_level() (H.265 7.3.2.2, 7.3.3); `bits` stand
/// behind the NAL header.
HevcSpsHead read_hevc_sps_head(BitReader& bits);

/// Whether pictures may be shown before ones that were decoded before them: sps_max_num_reorder_pics of the
/// highest temporal layer (H.265 7.3.2.2, 7.4.3.2). `unit` is a sequence parameter set with its NAL header.
bool hevc_reorders(Bytes unit);
/// The colour description in such a set (H.265 E.2.1); nothing where it has none.
std::optional<ColorCodes> hevc_colors(Bytes unit);

} // namespace lanner
