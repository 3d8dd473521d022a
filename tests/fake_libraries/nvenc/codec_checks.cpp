// Rate control and the codecs' own parts of a configuration.

#include <algorithm>
#include <array>

#include "fake_libraries/nvenc/checks.h"
#include "fake_libraries/nvenc/reserved.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

/// QPs of a codec, as NV_ENC_QP has them.
struct QpRange {
  int least = 0, most = 51;
  bool holds(const NV_ENC_QP& qp) const {
    return std::ranges::all_of(std::array{qp.qpInterP, qp.qpInterB, qp.qpIntra}, [this](std::uint32_t value) {
      return static_cast<int>(value) >= least && static_cast<int>(value) <= most;
    });
  }
};

/// HEVC has negative ones above 8 bits (QpBdOffset), AV1 a base_q_idx.
QpRange range_of(const Settings& s) {
  if (s.codec() == Codec::av1) return {0, 255};
  return {s.codec() == Codec::hevc ? -6 * static_cast<int>(s.depth() - 8) : 0, 51};
}

void check_quantisers(Checker& check, const Settings& s) {
  const NV_ENC_RC_PARAMS& rate = s.config.rcParams;
  const QpRange range = range_of(s);
  const auto at_most = [](const NV_ENC_QP& a, const NV_ENC_QP& b) {
    const auto of = [](std::uint32_t value) { return static_cast<int>(value); };
    return of(a.qpInterP) <= of(b.qpInterP) && of(a.qpInterB) <= of(b.qpInterB) &&
           of(a.qpIntra) <= of(b.qpIntra);
  };
  check.require(rate.rateControlMode != NV_ENC_PARAMS_RC_CONSTQP || range.holds(rate.constQP),
                NV_ENC_ERR_INVALID_PARAM, "a QP of constQP is not within {} to {}", range.least, range.most);
  check.require(!rate.enableMinQP || range.holds(rate.minQP), NV_ENC_ERR_INVALID_PARAM,
                "a QP of minQP is not within {} to {}", range.least, range.most);
  check.require(!rate.enableMaxQP || range.holds(rate.maxQP), NV_ENC_ERR_INVALID_PARAM,
                "a QP of maxQP is not within {} to {}", range.least, range.most);
  check.require(!rate.enableInitialRCQP || range.holds(rate.initialRCQP), NV_ENC_ERR_INVALID_PARAM,
                "a QP of initialRCQP is not within {} to {}", range.least, range.most);
  check.require(!rate.enableMinQP || !rate.enableMaxQP || at_most(rate.minQP, rate.maxQP),
                NV_ENC_ERR_INVALID_PARAM, "a QP of minQP is above that of maxQP");
}

void check_lookahead(Checker& check, const Settings& s) {
  const NV_ENC_RC_PARAMS& rate = s.config.rcParams;
  check.require(!rate.enableLookahead || capability(s.codec(), NV_ENC_CAPS_SUPPORT_LOOKAHEAD),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "enableLookahead without NV_ENC_CAPS_SUPPORT_LOOKAHEAD");
  check.require(!rate.enableLookahead || rate.lookaheadDepth <= 31 - s.b_frames(), NV_ENC_ERR_INVALID_PARAM,
                "lookaheadDepth is {}, with {} B pictures at most {}", rate.lookaheadDepth, s.b_frames(),
                31 - s.b_frames());
  check.require(!rate.enableExtLookahead, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "enableExtLookahead is not supported by this device");
  check.require(!rate.enableTemporalAQ || capability(s.codec(), NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "enableTemporalAQ without NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ");
}

void check_qp_map(Checker& check, const Settings& s) {
  const NV_ENC_RC_PARAMS& rate = s.config.rcParams;
  check.require(rate.qpMapMode < NV_ENC_QP_MAP, NV_ENC_ERR_UNSUPPORTED_PARAM, "qpMapMode is {}",
                unsigned{rate.qpMapMode});
  if (rate.qpMapMode != NV_ENC_QP_MAP_EMPHASIS) return;
  check.require(capability(s.codec(), NV_ENC_CAPS_SUPPORT_EMPHASIS_LEVEL_MAP) != 0,
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "NV_ENC_QP_MAP_EMPHASIS without NV_ENC_CAPS_SUPPORT_EMPHASIS_LEVEL_MAP");
  check.require(!rate.enableAQ && !rate.enableTemporalAQ, NV_ENC_ERR_INVALID_PARAM,
                "NV_ENC_QP_MAP_EMPHASIS with adaptive quantisation");
}

void check_vui(Checker& check, const NV_ENC_CONFIG_H264_VUI_PARAMETERS& vui) {
  check.require(vui.videoFormat <= NV_ENC_VUI_VIDEO_FORMAT_UNSPECIFIED, NV_ENC_ERR_INVALID_PARAM,
                "VUI: videoFormat is {}", unsigned{vui.videoFormat});
  check.require(!vui.colourDescriptionPresentFlag || vui.videoSignalTypePresentFlag, NV_ENC_ERR_INVALID_PARAM,
                "VUI: colourDescriptionPresentFlag without videoSignalTypePresentFlag is not written");
  check.require(vui.colourPrimaries <= 255 && vui.transferCharacteristics <= 255 && vui.colourMatrix <= 255,
                NV_ENC_ERR_INVALID_PARAM, "VUI: a description of colour does not fit into 8 bits");
  check.require(vui.chromaSampleLocationTop <= 5 && vui.chromaSampleLocationBot <= 5,
                NV_ENC_ERR_INVALID_PARAM, "VUI: chroma sample location {}, {}", vui.chromaSampleLocationTop,
                vui.chromaSampleLocationBot);
  check.require(!vui.timingInfoPresentFlag || (vui.numUnitInTicks > 0 && vui.timeScale > 0),
                NV_ENC_ERR_INVALID_PARAM, "VUI: numUnitInTicks is {}, timeScale {}", vui.numUnitInTicks,
                vui.timeScale);
}

struct SliceChoice {
  std::uint32_t mode, data;
};
void check_slices(Checker& check, const Settings& s, const SliceChoice& slices) {
  const BlockGrid grid = blocks_of(s);
  check.require(slices.mode <= 3, NV_ENC_ERR_INVALID_PARAM, "sliceMode is {}", slices.mode);
  check.require(slices.mode == 0 || slices.data > 0, NV_ENC_ERR_INVALID_PARAM,
                "sliceModeData is 0 with sliceMode {}", slices.mode);
  check.require(slices.mode != 1 || capability(s.codec(), NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "sliceMode 1 without NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE");
  const std::uint32_t blocks = grid.columns * grid.rows, most = slices.mode == 0   ? blocks
                                                                : slices.mode == 1 ? UINT32_MAX
                                                                                   : grid.rows;
  check.require(slices.data <= most, NV_ENC_ERR_INVALID_PARAM,
                "sliceModeData is {} with sliceMode {}, a picture has {} blocks in {} rows", slices.data,
                slices.mode, blocks, grid.rows);
}

struct IntraRefresh {
  bool enabled;
  std::uint32_t period, count;
};
void check_intra_refresh(Checker& check, const Settings& s, const IntraRefresh& refresh) {
  if (!refresh.enabled) {
    check.require(refresh.period == 0, NV_ENC_ERR_INVALID_PARAM,
                  "intraRefreshPeriod without enableIntraRefresh");
    return;
  }
  check.require(capability(s.codec(), NV_ENC_CAPS_SUPPORT_INTRA_REFRESH) != 0, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "enableIntraRefresh without NV_ENC_CAPS_SUPPORT_INTRA_REFRESH");
  check.require(s.b_frames() == 0, NV_ENC_ERR_INVALID_PARAM, "enableIntraRefresh is ignored with B pictures");
  check.require(refresh.period == 0 || s.config.gopLength == infinite_gop_length, NV_ENC_ERR_INVALID_PARAM,
                "intraRefreshPeriod needs an infinite gopLength");
  check.require(refresh.count == 0 || refresh.count < refresh.period, NV_ENC_ERR_INVALID_PARAM,
                "intraRefreshCnt is {}, intraRefreshPeriod {}", refresh.count, refresh.period);
}

struct LongTerm {
  bool enabled;
  std::uint32_t frames;
};
void check_long_term(Checker& check, const Settings& s, const LongTerm& ltr) {
  if (!ltr.enabled) return;
  const int most = capability(s.codec(), NV_ENC_CAPS_NUM_MAX_LTR_FRAMES);
  check.require(static_cast<int>(ltr.frames) <= most, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "ltrNumFrames is {}, NV_ENC_CAPS_NUM_MAX_LTR_FRAMES {}", ltr.frames, most);
  check.require(s.b_frames() == 0, NV_ENC_ERR_INVALID_PARAM, "enableLTR with B pictures");
}

void check_chroma(Checker& check, const Settings& s, std::uint32_t idc) {
  check.require(idc == 1 || idc == 3, NV_ENC_ERR_INVALID_PARAM, "chromaFormatIDC is {}", idc);
  check.require(idc != 3 || capability(s.codec(), NV_ENC_CAPS_SUPPORT_YUV444_ENCODE),
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "chromaFormatIDC is 3 without NV_ENC_CAPS_SUPPORT_YUV444_ENCODE");
}

void check_depth(Checker& check, const Settings& s, std::uint32_t above_8) {
  check.require(above_8 == 0 || above_8 == 2, NV_ENC_ERR_INVALID_PARAM, "pixelBitDepthMinus8 is {}", above_8);
  check.require(above_8 == 0 || capability(s.codec(), NV_ENC_CAPS_SUPPORT_10BIT_ENCODE),
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "pixelBitDepthMinus8 is 2 without NV_ENC_CAPS_SUPPORT_10BIT_ENCODE");
}

/// By level 6.2 every table ends; a level too small for the pictures is refused.
void check_h264_level(Checker& check, const Settings& s) {
  struct Limit {
    std::uint32_t level, blocks;
  };
  constexpr Limit limits[] = {{9, 99},     {10, 99},    {11, 396},    {12, 396},    {13, 396},
                              {20, 396},   {21, 792},   {22, 1620},   {30, 1620},   {31, 3600},
                              {32, 5120},  {40, 8192},  {41, 8192},   {42, 8704},   {50, 22080},
                              {51, 36864}, {52, 36864}, {60, 139264}, {61, 139264}, {62, 139264}};
  if (s.h264().level == NV_ENC_LEVEL_AUTOSELECT) return;
  const auto found = std::ranges::find(limits, s.h264().level, &Limit::level);
  check.require(found != std::end(limits), NV_ENC_ERR_INVALID_PARAM, "level is {}", s.h264().level);
  const BlockGrid grid = blocks_of(s);
  check.require(found == std::end(limits) || grid.columns * grid.rows <= found->blocks,
                NV_ENC_ERR_INVALID_PARAM, "level {} is too small for {} macroblocks", s.h264().level,
                grid.columns * grid.rows);
}

void check_h264_lossless(Checker& check, const Settings& s) {
  if (!s.h264().qpPrimeYZeroTransformBypassFlag) return;
  const NV_ENC_RC_PARAMS& rate = s.config.rcParams;
  check.require(capability(Codec::h264, NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE) != 0,
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "qpPrimeYZeroTransformBypassFlag without NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE");
  check.require(
      rate.rateControlMode == NV_ENC_PARAMS_RC_CONSTQP && rate.constQP.qpInterP == 0 &&
          rate.constQP.qpInterB == 0 && rate.constQP.qpIntra == 0 &&
          s.config.profileGUID == NV_ENC_H264_PROFILE_HIGH_444_GUID,
      NV_ENC_ERR_INVALID_PARAM,
      "qpPrimeYZeroTransformBypassFlag needs constant QP of 0 and the profile High 4:4:4 Predictive");
}

void check_h264_profile(Checker& check, const Settings& s) {
  const NV_ENC_CONFIG_H264& h264 = s.h264();
  const GUID& profile = s.config.profileGUID;
  const bool baseline = profile == NV_ENC_H264_PROFILE_BASELINE_GUID;
  check.require(s.chroma() == 1 || profile == NV_ENC_H264_PROFILE_HIGH_444_GUID ||
                    profile == NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID,
                NV_ENC_ERR_INVALID_PARAM, "chromaFormatIDC is 3, the profile has no 4:4:4");
  check.require(!baseline ||
                    (s.b_frames() == 0 && h264.entropyCodingMode != NV_ENC_H264_ENTROPY_CODING_MODE_CABAC),
                NV_ENC_ERR_INVALID_PARAM, "the profile Baseline has no B pictures and no CABAC");
  check.require(profile != NV_ENC_H264_PROFILE_CONSTRAINED_HIGH_GUID || s.b_frames() == 0,
                NV_ENC_ERR_INVALID_PARAM, "the profile Constrained High has no B pictures");
  check.require(h264.adaptiveTransformMode != NV_ENC_H264_ADAPTIVE_TRANSFORM_ENABLE ||
                    (!baseline && profile != NV_ENC_H264_PROFILE_MAIN_GUID),
                NV_ENC_ERR_INVALID_PARAM, "adaptiveTransformMode needs a High profile");
}

void check_h264(Checker& check, const Settings& s) {
  const NV_ENC_CONFIG_H264& h264 = s.h264();
  check.require(reserved_clear(h264), NV_ENC_ERR_INVALID_PARAM, "a reserved member of h264Config is not 0");
  check_chroma(check, s, h264.chromaFormatIDC);
  check_slices(check, s, {h264.sliceMode, h264.sliceModeData});
  check_vui(check, h264.h264VUIParameters);
  check_intra_refresh(check, s,
                      {h264.enableIntraRefresh != 0, h264.intraRefreshPeriod, h264.intraRefreshCnt});
  check_long_term(check, s, {h264.enableLTR != 0, h264.ltrNumFrames});
  check_h264_level(check, s);
  check_h264_lossless(check, s);
  check_h264_profile(check, s);
  check.require(h264.spsId <= 31 && h264.ppsId <= 255, NV_ENC_ERR_INVALID_PARAM, "spsId is {}, ppsId {}",
                h264.spsId, h264.ppsId);
  check.require(h264.maxNumRefFrames <= 16, NV_ENC_ERR_INVALID_PARAM, "maxNumRefFrames is {}",
                h264.maxNumRefFrames);
  check.require(h264.disableDeblockingFilterIDC <= 2, NV_ENC_ERR_INVALID_PARAM,
                "disableDeblockingFilterIDC is {}", h264.disableDeblockingFilterIDC);
  check.require(h264.entropyCodingMode != NV_ENC_H264_ENTROPY_CODING_MODE_CABAC ||
                    capability(Codec::h264, NV_ENC_CAPS_SUPPORT_CABAC),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "CABAC without NV_ENC_CAPS_SUPPORT_CABAC");
  check.require(
      !h264.enableStereoMVC && !h264.separateColourPlaneFlag && h264.fmoMode != NV_ENC_H264_FMO_ENABLE,
      NV_ENC_ERR_UNSUPPORTED_PARAM, "MVC, separate colour planes and FMO are not supported by this device");
}

void check_hevc(Checker& check, const Settings& s) {
  const NV_ENC_CONFIG_HEVC& hevc = s.hevc();
  const GUID& profile = s.config.profileGUID;
  check.require(reserved_clear(hevc), NV_ENC_ERR_INVALID_PARAM, "a reserved member of hevcConfig is not 0");
  check_chroma(check, s, hevc.chromaFormatIDC);
  check_depth(check, s, hevc.pixelBitDepthMinus8);
  check_slices(check, s, {hevc.sliceMode, hevc.sliceModeData});
  check_vui(check, hevc.hevcVUIParameters);
  check_intra_refresh(check, s,
                      {hevc.enableIntraRefresh != 0, hevc.intraRefreshPeriod, hevc.intraRefreshCnt});
  check_long_term(check, s, {hevc.enableLTR != 0, hevc.ltrNumFrames});
  check.require(profile != NV_ENC_HEVC_PROFILE_MAIN_GUID || (s.depth() == 8 && s.chroma() == 1),
                NV_ENC_ERR_INVALID_PARAM, "the profile Main has 4:2:0 of 8 bits alone");
  check.require(profile != NV_ENC_HEVC_PROFILE_MAIN10_GUID || s.chroma() == 1, NV_ENC_ERR_INVALID_PARAM,
                "the profile Main 10 has 4:2:0 alone");
  check.require(hevc.tier <= NV_ENC_TIER_HEVC_HIGH, NV_ENC_ERR_INVALID_PARAM, "tier is {}", hevc.tier);
  check.require(
      hevc.level == NV_ENC_LEVEL_AUTOSELECT ||
          (hevc.level >= NV_ENC_LEVEL_HEVC_1 && hevc.level <= NV_ENC_LEVEL_HEVC_62 && hevc.level % 3 == 0),
      NV_ENC_ERR_INVALID_PARAM, "level is {}", hevc.level);
  check.require(hevc.maxCUSize == NV_ENC_HEVC_CUSIZE_AUTOSELECT || hevc.maxCUSize == NV_ENC_HEVC_CUSIZE_32x32,
                NV_ENC_ERR_UNSUPPORTED_PARAM, "maxCUSize is {}, only 32x32 is supported",
                unsigned{hevc.maxCUSize});
  check.require(hevc.maxNumRefFramesInDPB <= 16, NV_ENC_ERR_INVALID_PARAM, "maxNumRefFramesInDPB is {}",
                hevc.maxNumRefFramesInDPB);
  check.require(!hevc.enableAlphaLayerEncoding ||
                    capability(Codec::hevc, NV_ENC_CAPS_SUPPORT_ALPHA_LAYER_ENCODING),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "enableAlphaLayerEncoding without its capability");
  check.require(hevc.vpsId <= 15 && hevc.spsId <= 15 && hevc.ppsId <= 63, NV_ENC_ERR_INVALID_PARAM,
                "vpsId is {}, spsId {}, ppsId {}", hevc.vpsId, hevc.spsId, hevc.ppsId);
}

void check_av1(Checker& check, const Settings& s) {
  const NV_ENC_CONFIG_AV1& av1 = s.av1();
  check.require(reserved_clear(av1), NV_ENC_ERR_INVALID_PARAM, "a reserved member of av1Config is not 0");
  check.require(av1.chromaFormatIDC == 1, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "chromaFormatIDC is {}, AV1 has 4:2:0 alone", unsigned{av1.chromaFormatIDC});
  check_depth(check, s, av1.pixelBitDepthMinus8);
  check.require(av1.inputPixelBitDepthMinus8 <= av1.pixelBitDepthMinus8 &&
                    av1.inputPixelBitDepthMinus8 % 2 == 0,
                NV_ENC_ERR_INVALID_PARAM, "inputPixelBitDepthMinus8 is {}, pixelBitDepthMinus8 {}",
                unsigned{av1.inputPixelBitDepthMinus8}, unsigned{av1.pixelBitDepthMinus8});
  check_intra_refresh(check, s, {av1.enableIntraRefresh != 0, av1.intraRefreshPeriod, av1.intraRefreshCnt});
  check.require(av1.level <= NV_ENC_LEVEL_AV1_AUTOSELECT, NV_ENC_ERR_INVALID_PARAM, "level is {}", av1.level);
  check.require(av1.tier <= NV_ENC_TIER_AV1_1, NV_ENC_ERR_INVALID_PARAM, "tier is {}", av1.tier);
  check.require(
      !av1.enableCustomTileConfig || (av1.numTileColumns && av1.numTileRows && av1.tileWidths &&
                                      av1.tileHeights && av1.numTileColumns <= 64 && av1.numTileRows <= 64),
      NV_ENC_ERR_INVALID_PARAM, "enableCustomTileConfig without 1 to 64 columns and rows and their sizes");
  check.require(!av1.enableFilmGrainParams || av1.filmGrainParams, NV_ENC_ERR_INVALID_PARAM,
                "enableFilmGrainParams without filmGrainParams");
  check.require(av1.numFwdRefs <= 4 && av1.numBwdRefs <= 3, NV_ENC_ERR_INVALID_PARAM,
                "numFwdRefs is {}, numBwdRefs {}", unsigned{av1.numFwdRefs}, unsigned{av1.numBwdRefs});
  check.require(av1.colorRange <= 1 && av1.chromaSamplePosition <= 2, NV_ENC_ERR_INVALID_PARAM,
                "colorRange is {}, chromaSamplePosition {}", av1.colorRange, av1.chromaSamplePosition);
  check.require(!av1.outputAnnexBFormat, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "outputAnnexBFormat is not supported by this fake");
}

} // namespace

void check_rate(Checker& check, const Settings& s) {
  const NV_ENC_RC_PARAMS& rate = s.config.rcParams;
  const unsigned mode = rate.rateControlMode;
  const int modes = capability(s.codec(), NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES);
  check.require(mode <= NV_ENC_PARAMS_RC_CBR && (mode == 0 || (modes & static_cast<int>(mode))),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "rateControlMode is {}, the device has {:#x}", mode, modes);
  check_quantisers(check, s);
  check.require(
      mode != NV_ENC_PARAMS_RC_VBR || rate.maxBitRate == 0 || rate.maxBitRate >= rate.averageBitRate,
      NV_ENC_ERR_INVALID_PARAM, "maxBitRate is {}, averageBitRate {}", rate.maxBitRate, rate.averageBitRate);
  check.require(rate.vbvBufferSize == 0 || capability(s.codec(), NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE),
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "vbvBufferSize without NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE");
  check.require(rate.vbvBufferSize == 0 || rate.vbvInitialDelay <= rate.vbvBufferSize,
                NV_ENC_ERR_INVALID_PARAM, "vbvInitialDelay is {}, vbvBufferSize {}", rate.vbvInitialDelay,
                rate.vbvBufferSize);
  check.require(rate.targetQuality <= (s.codec() == Codec::av1 ? 63 : 51), NV_ENC_ERR_INVALID_PARAM,
                "targetQuality is {}", rate.targetQuality);
  check.require(mode == NV_ENC_PARAMS_RC_VBR || (rate.targetQuality == 0 && rate.targetQualityLSB == 0),
                NV_ENC_ERR_INVALID_PARAM, "targetQuality is for VBR alone");
  check.require(rate.multiPass <= NV_ENC_TWO_PASS_FULL_RESOLUTION, NV_ENC_ERR_INVALID_PARAM,
                "multiPass is {}", unsigned{rate.multiPass});
  check_lookahead(check, s);
  check_qp_map(check, s);
}

void check_codec(Checker& check, const Settings& s) {
  switch (s.codec()) {
  case Codec::h264:
    return check_h264(check, s);
  case Codec::hevc:
    return check_hevc(check, s);
  case Codec::av1:
    return check_av1(check, s);
  }
}

BlockGrid blocks_of(const Settings& s) {
  const std::uint32_t size = s.codec() == Codec::h264 ? 16 : s.codec() == Codec::hevc ? 32 : 64;
  return {(s.init.encodeWidth + size - 1) / size, (s.init.encodeHeight + size - 1) / size};
}

} // namespace lanner::fake_nvenc
