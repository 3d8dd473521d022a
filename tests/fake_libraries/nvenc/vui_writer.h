#pragma once
// VUI that both codecs write alike.

#include "fake_libraries/nvenc/bit_writer.h"
#include "fake_libraries/nvenc/stream.h"

namespace lanner::fake_nvenc {

/// From aspect_ratio_info_present_flag to the chroma's place: H.264 E.1.1 and HEVC E.2.1 agree so far. The
/// sample aspect ratio is what the display aspect ratio makes of the size.
void write_vui_begin(BitWriter& out, const nvenc::NV_ENC_INITIALIZE_PARAMS& init,
                     const nvenc::NV_ENC_CONFIG_H264_VUI_PARAMETERS& vui);

/// num_units_in_tick and time_scale; `ticks_per_frame` is 2 in H.264 and 1 in HEVC. The caller's where there
/// are any, else by the frame rate; `present` is false where there is neither.
struct Timing {
  bool present = false;
  std::uint32_t units = 0, scale = 0;
};
Timing timing_of(const nvenc::NV_ENC_INITIALIZE_PARAMS& init,
                 const nvenc::NV_ENC_CONFIG_H264_VUI_PARAMETERS& vui, std::uint32_t ticks_per_frame);

} // namespace lanner::fake_nvenc
