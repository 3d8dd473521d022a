#pragma once
// What H.264's parameter sets say that no capability query of a hardware decoder asks.

#include <string>

#include <lanner/packet.h>

namespace lanner {

/// A feature of H.264 that the stream's parameter sets announce and that decoders of Main and High profile
/// lack: `flexible macroblock order` (H.264 7.4.2.2, num_slice_groups_minus1), `the Extended profile (data
/// partitioning, SP and SI slices)`, `separate colour planes` or `lossless macroblocks` (7.4.2.1.1). Empty
/// for none. The sets are those of the extradata; where there are none, the container's profile counts.
std::string uncommon_h264_feature(const StreamInfo& stream);

} // namespace lanner
