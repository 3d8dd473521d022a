#pragma once
// H.265's sequence parameter sets.

#include "video/bits.h"

namespace lanner {

/// Whether pictures may be shown before ones that were decoded before them: sps_max_num_reorder_pics of the
/// highest temporal layer (H.265 7.3.2.2, 7.4.3.2). `unit` is a sequence parameter set with its NAL header.
bool hevc_reorders(Bytes unit);

} // namespace lanner
