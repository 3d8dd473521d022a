#pragma once
// Facts of H.264 sequence parameter sets.

#include "video/bits.h"

namespace lanner {

/// Whether sequence parameter sets of this profile_idc tell chroma format and depths (H.264 7.3.2.1.1).
bool h264_tells_chroma(std::uint32_t profile);

/// Whether pictures may be single fields: frame_mbs_only_flag is 0, or the unit cannot be read
/// (H.264 7.3.2.1.1).
bool h264_may_have_fields(Bytes unit);

} // namespace lanner
