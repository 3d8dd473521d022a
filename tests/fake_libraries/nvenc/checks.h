#pragma once
// What the header asks of a configuration and of a picture.

#include "fake_libraries/nvenc/call.h"

namespace lanner::fake_nvenc {

/// A configuration with the preset's where it has none; refuses what is wrong in it.
nvenc::NVENCSTATUS check_configuration(Call& call, const nvenc::NV_ENC_INITIALIZE_PARAMS& init,
                                       Settings& settings);

/// Rate control, for a codec.
void check_rate(Checker& check, const Settings& settings);

/// What belongs to a codec alone.
void check_codec(Checker& check, const Settings& settings);

/// What a picture says beside its buffers.
nvenc::NVENCSTATUS check_picture(Call& call, const nvenc::NV_ENC_PIC_PARAMS& picture);

/// SEI messages or metadata; refuses what has no bytes.
nvenc::NVENCSTATUS read_messages(Call& call, const nvenc::NV_ENC_PIC_PARAMS& picture,
                                 std::vector<Message>& messages);

/// Macroblocks of H.264, or the coding tree units of 32 and superblocks of 64 that the device has.
struct BlockGrid {
  std::uint32_t columns = 0, rows = 0;
};
BlockGrid blocks_of(const Settings& settings);

} // namespace lanner::fake_nvenc
