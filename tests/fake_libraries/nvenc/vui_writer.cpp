#include "fake_libraries/nvenc/vui_writer.h"

#include <numeric>

namespace lanner::fake_nvenc {

void write_vui_begin(BitWriter& out, const nvenc::NV_ENC_INITIALIZE_PARAMS& init,
                     const nvenc::NV_ENC_CONFIG_H264_VUI_PARAMETERS& vui) {
  const bool ratio = init.darWidth > 0 && init.darHeight > 0;
  out.flag(ratio);
  if (ratio) {
    const std::uint64_t across = std::uint64_t{init.darWidth} * init.encodeHeight,
                        down = std::uint64_t{init.darHeight} * init.encodeWidth,
                        divisor = std::gcd(across, down);
    const bool square = across == down;
    out.put(square ? 1 : 255, 8);
    if (!square) {
      out.put(across / divisor, 16);
      out.put(down / divisor, 16);
    }
  }
  out.flag(vui.overscanInfoPresentFlag);
  if (vui.overscanInfoPresentFlag) out.flag(vui.overscanInfo);
  out.flag(vui.videoSignalTypePresentFlag);
  if (vui.videoSignalTypePresentFlag) {
    out.put(vui.videoFormat, 3);
    out.flag(vui.videoFullRangeFlag);
    out.flag(vui.colourDescriptionPresentFlag);
    if (vui.colourDescriptionPresentFlag) {
      out.put(vui.colourPrimaries, 8);
      out.put(vui.transferCharacteristics, 8);
      out.put(vui.colourMatrix, 8);
    }
  }
  out.flag(vui.chromaSampleLocationFlag);
  if (vui.chromaSampleLocationFlag) {
    out.ue(vui.chromaSampleLocationTop);
    out.ue(vui.chromaSampleLocationBot);
  }
}

Timing timing_of(const nvenc::NV_ENC_INITIALIZE_PARAMS& init,
                 const nvenc::NV_ENC_CONFIG_H264_VUI_PARAMETERS& vui, std::uint32_t ticks_per_frame) {
  if (vui.timingInfoPresentFlag) return {true, vui.numUnitInTicks, vui.timeScale};
  if (init.frameRateNum == 0) return {};
  return {true, init.frameRateDen, init.frameRateNum * ticks_per_frame};
}

} // namespace lanner::fake_nvenc
