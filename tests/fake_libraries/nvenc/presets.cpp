// Configurations of the presets. The header says which of them have B pictures and that lossless ones have QP
// 0 under constant QP; the other numbers are this fake's own, plausible and different from preset to preset.

#include "fake_libraries/nvenc/device.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

void set_h264(NV_ENC_CONFIG& config, NV_ENC_TUNING_INFO tuning) {
  auto& h264 = config.encodeCodecConfig.h264Config;
  h264.idrPeriod = config.gopLength;
  h264.chromaFormatIDC = 1;
  h264.entropyCodingMode = NV_ENC_H264_ENTROPY_CODING_MODE_CABAC;
  h264.adaptiveTransformMode = NV_ENC_H264_ADAPTIVE_TRANSFORM_ENABLE;
  h264.sliceMode = 3;
  h264.sliceModeData = 1;
  h264.maxNumRefFrames = 4;
  if (tuning != NV_ENC_TUNING_INFO_LOSSLESS) return;
  h264.qpPrimeYZeroTransformBypassFlag = 1;
  config.profileGUID = NV_ENC_H264_PROFILE_HIGH_444_GUID;
}

void set_hevc(NV_ENC_CONFIG& config) {
  auto& hevc = config.encodeCodecConfig.hevcConfig;
  hevc.idrPeriod = config.gopLength;
  hevc.chromaFormatIDC = 1;
  hevc.maxCUSize = NV_ENC_HEVC_CUSIZE_32x32;
  hevc.sliceMode = 3;
  hevc.sliceModeData = 1;
  hevc.maxNumRefFramesInDPB = 4;
}

void set_av1(NV_ENC_CONFIG& config) {
  auto& av1 = config.encodeCodecConfig.av1Config;
  av1.idrPeriod = config.gopLength;
  av1.chromaFormatIDC = 1;
  av1.level = NV_ENC_LEVEL_AV1_AUTOSELECT;
  av1.maxNumRefFramesInDPB = 4;
}

void set_rate(NV_ENC_RC_PARAMS& rate, int preset, NV_ENC_TUNING_INFO tuning) {
  const auto qp = static_cast<std::uint32_t>(28 - preset);
  rate.constQP = {qp, qp + 3, qp - 3};
  rate.rateControlMode = NV_ENC_PARAMS_RC_VBR;
  rate.averageBitRate = 2'000'000;
  rate.maxBitRate = 4'000'000;
  if (tuning == NV_ENC_TUNING_INFO_LOW_LATENCY || tuning == NV_ENC_TUNING_INFO_ULTRA_LOW_LATENCY) {
    rate.rateControlMode = NV_ENC_PARAMS_RC_CBR;
    rate.maxBitRate = rate.averageBitRate;
    rate.lowDelayKeyFrameScale = tuning == NV_ENC_TUNING_INFO_LOW_LATENCY ? 2 : 1;
    rate.zeroReorderDelay = 1;
  }
  if (tuning == NV_ENC_TUNING_INFO_LOSSLESS) {
    rate.rateControlMode = NV_ENC_PARAMS_RC_CONSTQP;
    rate.constQP = {};
    rate.averageBitRate = rate.maxBitRate = 0;
    return;
  }
  rate.multiPass = preset >= 4 ? NV_ENC_TWO_PASS_QUARTER_RESOLUTION : NV_ENC_MULTI_PASS_DISABLED;
  if (preset == 6) rate.multiPass = NV_ENC_TWO_PASS_FULL_RESOLUTION;
  rate.enableAQ = preset >= 2;
}

} // namespace

NV_ENC_CONFIG preset_config(Codec codec, int preset, NV_ENC_TUNING_INFO tuning) {
  auto config = versioned<NV_ENC_CONFIG>();
  config.profileGUID = NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID;
  config.frameFieldMode = NV_ENC_PARAMS_FRAME_FIELD_MODE_FRAME;
  config.mvPrecision = NV_ENC_MV_PRECISION_QUARTER_PEL;
  const bool patient = tuning == NV_ENC_TUNING_INFO_HIGH_QUALITY || tuning == NV_ENC_TUNING_INFO_LOSSLESS;
  config.gopLength = patient ? 250 : infinite_gop_length;
  const int first_with_b = codec == Codec::h264 ? 2 : 1; // P3 and P2
  config.frameIntervalP = patient && preset >= first_with_b ? 3 : 1;
  if (codec == Codec::h264) set_h264(config, tuning);
  if (codec == Codec::hevc) set_hevc(config);
  if (codec == Codec::av1) set_av1(config);
  set_rate(config.rcParams, preset, tuning);
  return config;
}

} // namespace lanner::fake_nvenc
