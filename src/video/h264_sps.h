#pragma once
// The one fact of an H.264 sequence parameter set that random access needs.

#include "video/bits.h"

namespace lanner {

/// Whether pictures may be single fields: frame_mbs_only_flag is 0, or the unit cannot be read
/// (H.264 7.3.2.1.1).
bool h264_may_have_fields(Bytes unit);

} // namespace lanner
