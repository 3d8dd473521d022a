// Our declarations of the NVENC API beside NVIDIA's header, where one is installed. A header of another
// version is compared in what both have: an older one in all but what 12.1 changed, a newer one in numbers
// alone.

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include "video/nvenc/nvenc_api.h"

#if __has_include(<ffnvcodec/nvEncodeAPI.h>)
#include <ffnvcodec/nvEncodeAPI.h>

namespace lanner::nvenc {
namespace {

constexpr bool same_version = NVENCAPI_MAJOR_VERSION == api_major && NVENCAPI_MINOR_VERSION == api_minor;

/// Newer versions lay out many structures anew, under new numbers of their own.
#define SKIP_FOR_NEWER_HEADERS()                                                                             \
  if (NVENCAPI_VERSION_NUMBER > (api_major << 8 | api_minor))                                                \
  GTEST_SKIP() << "nvEncodeAPI.h of this machine is newer than the declarations: structures are not "        \
                  "compared"
#define NVENCAPI_VERSION_NUMBER (NVENCAPI_MAJOR_VERSION << 8 | NVENCAPI_MINOR_VERSION)

/// What 12.0 and 12.1 laid out anew.
bool changed_since(std::string_view name) {
  if (same_version) return false;
  for (const char* changed : {"NV_ENC_CODEC_PIC_PARAMS", "NV_ENC_PIC_PARAMS::", "NV_ENC_LOCK_BITSTREAM::",
                              "NV_ENC_INITIALIZE_PARAMS::enableOutputInVidmem"})
    if (name.starts_with(changed)) return true;
  return name == "NV_ENC_PIC_PARAMS" || name == "NV_ENC_LOCK_BITSTREAM";
}

/// Members that the installed header does not have.
std::set<std::string>& unknown() {
  static std::set<std::string> names;
  return names;
}

template<typename Theirs, typename Ours>
void compare_size(const char* name) {
  if (changed_since(name)) return;
  EXPECT_EQ(sizeof(Theirs), sizeof(Ours)) << name;
  EXPECT_EQ(alignof(Theirs), alignof(Ours)) << name;
}

/// Fills one member with ones in both structures: the bytes are the same where it lies at the same place.
template<typename Theirs, typename Ours, typename Fill>
void compare_member(const char* name, Fill fill) {
  if (changed_since(name)) return;
  if constexpr (std::is_invocable_v<Fill, Theirs&>) {
    Theirs theirs;
    Ours ours;
    std::memset(&theirs, 0, sizeof theirs);
    std::memset(&ours, 0, sizeof ours);
    fill(theirs), fill(ours);
    EXPECT_EQ(std::memcmp(&theirs, &ours, std::min(sizeof theirs, sizeof ours)), 0) << name;
  } else {
    EXPECT_FALSE(same_version) << name;
    unknown().insert(name);
  }
}

#define EXPAND(...) EXPAND5(EXPAND5(EXPAND5(EXPAND5(__VA_ARGS__))))
#define EXPAND5(...) EXPAND4(EXPAND4(EXPAND4(EXPAND4(__VA_ARGS__))))
#define EXPAND4(...) EXPAND3(EXPAND3(EXPAND3(EXPAND3(__VA_ARGS__))))
#define EXPAND3(...) EXPAND2(EXPAND2(EXPAND2(EXPAND2(__VA_ARGS__))))
#define EXPAND2(...) __VA_ARGS__
#define AGAIN() EACH
#define PARENS ()
#define EACH(one, of, name, ...) one(of, name) __VA_OPT__(AGAIN PARENS(one, of, __VA_ARGS__))
#define FOR_EACH(one, of, ...) EXPAND(EACH(one, of, __VA_ARGS__))

#define MEMBER(structure, member)                                                                            \
  compare_member<::structure, structure>(                                                                    \
      #structure "::" #member, [](auto& s) requires requires { s.member; } {                                 \
        std::memset(static_cast<void*>(&s.member), 255, sizeof s.member);                                    \
      });
#define BITS(structure, member)                                                                              \
  compare_member<::structure, structure>(                                                                    \
      #structure "::" #member,                                                                               \
      [](auto& s) requires requires { s.member; } { --s.member; }); /* to all ones */
#define SIZE(of, structure) compare_size<::structure, structure>(#structure);
#define VALUE(of, name) EXPECT_EQ(static_cast<unsigned>(::name), static_cast<unsigned>(name)) << #name;
#define IDENTIFIER(of, name) EXPECT_EQ(std::memcmp(&::name, &name, sizeof name), 0) << #name;

#define SIZES(...) FOR_EACH(SIZE, , __VA_ARGS__)
#define MEMBERS(structure, ...) FOR_EACH(MEMBER, structure, __VA_ARGS__)
#define BIT_MEMBERS(structure, ...) FOR_EACH(BITS, structure, __VA_ARGS__)
#define VALUES(...) FOR_EACH(VALUE, , __VA_ARGS__)
#define IDENTIFIERS(...) FOR_EACH(IDENTIFIER, , __VA_ARGS__)

/// Where AV1 begins.
#if NVENCAPI_MAJOR_VERSION >= 12
#define LANNER_SINCE_12(...) __VA_ARGS__
#else
#define LANNER_SINCE_12(...)
#endif

TEST(NvencApi, structures_have_the_sizes_of_nvidias) {
  SKIP_FOR_NEWER_HEADERS();
  SIZES(NV_ENC_QP, NV_ENC_RC_PARAMS, NV_ENC_CONFIG_H264_VUI_PARAMETERS,
        NVENC_EXTERNAL_ME_HINT_COUNTS_PER_BLOCKTYPE, NV_ENC_CONFIG_H264, NV_ENC_CONFIG_HEVC,
        NV_ENC_CODEC_CONFIG, NV_ENC_CONFIG, NV_ENC_INITIALIZE_PARAMS, NV_ENC_RECONFIGURE_PARAMS,
        NV_ENC_PRESET_CONFIG, NV_ENC_CAPS_PARAM, NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS,
        NV_ENC_SEQUENCE_PARAM_PAYLOAD, NV_ENC_EVENT_PARAMS, NV_ENC_CREATE_INPUT_BUFFER,
        NV_ENC_LOCK_INPUT_BUFFER, NV_ENC_CREATE_BITSTREAM_BUFFER, NV_ENC_REGISTER_RESOURCE,
        NV_ENC_MAP_INPUT_RESOURCE, NV_ENC_SEI_PAYLOAD, NV_ENC_PIC_PARAMS_H264_EXT, NV_ENC_PIC_PARAMS_H264,
        NV_ENC_PIC_PARAMS_HEVC, NV_ENC_CODEC_PIC_PARAMS, NV_ENC_PIC_PARAMS, NV_ENC_LOCK_BITSTREAM,
        NV_ENCODE_API_FUNCTION_LIST)
  LANNER_SINCE_12(SIZES(NV_ENC_FILM_GRAIN_PARAMS_AV1, NV_ENC_CONFIG_AV1, NV_ENC_CLOCK_TIMESTAMP_SET,
                        NV_ENC_TIME_CODE, NV_ENC_PIC_PARAMS_AV1, NV_ENC_LOOKAHEAD_PIC_PARAMS,
                        NV_ENC_RESTORE_ENCODER_STATE_PARAMS))
}

TEST(NvencApi, members_that_configure_lie_where_nvidias_do) {
  SKIP_FOR_NEWER_HEADERS();
  MEMBERS(NV_ENC_QP, qpInterP, qpInterB, qpIntra)
  MEMBERS(NV_ENC_RC_PARAMS, version, rateControlMode, constQP, averageBitRate, maxBitRate, vbvBufferSize,
          vbvInitialDelay, minQP, maxQP, initialRCQP, temporallayerIdxMask, temporalLayerQP, targetQuality,
          targetQualityLSB, lookaheadDepth, lowDelayKeyFrameScale, yDcQPIndexOffset, uDcQPIndexOffset,
          vDcQPIndexOffset, qpMapMode, multiPass, alphaLayerBitrateRatio, cbQPIndexOffset, crQPIndexOffset)
  BIT_MEMBERS(NV_ENC_RC_PARAMS, enableMinQP, enableMaxQP, enableInitialRCQP, enableAQ, enableLookahead,
              disableIadapt, disableBadapt, enableTemporalAQ, zeroReorderDelay, enableNonRefP,
              strictGOPTarget, aqStrength, enableExtLookahead)
  MEMBERS(NV_ENC_CONFIG_H264_VUI_PARAMETERS, overscanInfoPresentFlag, overscanInfo,
          videoSignalTypePresentFlag, videoFormat, videoFullRangeFlag, colourDescriptionPresentFlag,
          colourPrimaries, transferCharacteristics, colourMatrix, chromaSampleLocationFlag,
          chromaSampleLocationTop, chromaSampleLocationBot, bitstreamRestrictionFlag, timingInfoPresentFlag,
          numUnitInTicks, timeScale)
  BIT_MEMBERS(NVENC_EXTERNAL_ME_HINT_COUNTS_PER_BLOCKTYPE, numCandsPerBlk16x16, numCandsPerBlk16x8,
              numCandsPerBlk8x16, numCandsPerBlk8x8, numCandsPerSb)
  MEMBERS(NV_ENC_CONFIG_H264, level, idrPeriod, separateColourPlaneFlag, disableDeblockingFilterIDC,
          numTemporalLayers, spsId, ppsId, adaptiveTransformMode, fmoMode, bdirectMode, entropyCodingMode,
          stereoMode, intraRefreshPeriod, intraRefreshCnt, maxNumRefFrames, sliceMode, sliceModeData,
          h264VUIParameters, ltrNumFrames, ltrTrustMode, chromaFormatIDC, maxTemporalLayers, useBFramesAsRef,
          numRefL0, numRefL1)
  BIT_MEMBERS(NV_ENC_CONFIG_H264, enableTemporalSVC, enableStereoMVC, hierarchicalPFrames,
              hierarchicalBFrames, outputBufferingPeriodSEI, outputPictureTimingSEI, outputAUD, disableSPSPPS,
              outputFramePackingSEI, outputRecoveryPointSEI, enableIntraRefresh, enableConstrainedEncoding,
              repeatSPSPPS, enableVFR, enableLTR, qpPrimeYZeroTransformBypassFlag, useConstrainedIntraPred,
              enableFillerDataInsertion, disableSVCPrefixNalu, enableScalabilityInfoSEI,
              singleSliceIntraRefresh, enableTimeCode)
  MEMBERS(NV_ENC_CONFIG_HEVC, level, tier, minCUSize, maxCUSize, idrPeriod, intraRefreshPeriod,
          intraRefreshCnt, maxNumRefFramesInDPB, ltrNumFrames, vpsId, spsId, ppsId, sliceMode, sliceModeData,
          maxTemporalLayersMinus1, hevcVUIParameters, ltrTrustMode, useBFramesAsRef, numRefL0, numRefL1)
  BIT_MEMBERS(NV_ENC_CONFIG_HEVC, useConstrainedIntraPred, disableDeblockAcrossSliceBoundary,
              outputBufferingPeriodSEI, outputPictureTimingSEI, outputAUD, enableLTR, disableSPSPPS,
              repeatSPSPPS, enableIntraRefresh, chromaFormatIDC, pixelBitDepthMinus8,
              enableFillerDataInsertion, enableConstrainedEncoding, enableAlphaLayerEncoding,
              singleSliceIntraRefresh, outputRecoveryPointSEI, outputTimeCodeSEI)
  LANNER_SINCE_12(MEMBERS(NV_ENC_FILM_GRAIN_PARAMS_AV1, pointYValue, pointYScaling, pointCbValue,
                          pointCbScaling, pointCrValue, pointCrScaling, arCoeffsYPlus128, arCoeffsCbPlus128,
                          arCoeffsCrPlus128, cbMult, cbLumaMult, cbOffset, crMult, crLumaMult, crOffset)
                      BIT_MEMBERS(NV_ENC_FILM_GRAIN_PARAMS_AV1, applyGrain, chromaScalingFromLuma,
                                  overlapFlag, clipToRestrictedRange, grainScalingMinus8, arCoeffLag,
                                  numYPoints, numCbPoints, numCrPoints, arCoeffShiftMinus6, grainScaleShift))
  LANNER_SINCE_12(
      MEMBERS(NV_ENC_CONFIG_AV1, level, tier, minPartSize, maxPartSize, idrPeriod, intraRefreshPeriod,
              intraRefreshCnt, maxNumRefFramesInDPB, numTileColumns, numTileRows, tileWidths, tileHeights,
              maxTemporalLayersMinus1, colorPrimaries, transferCharacteristics, matrixCoefficients,
              colorRange, chromaSamplePosition, useBFramesAsRef, filmGrainParams, numFwdRefs, numBwdRefs)
          BIT_MEMBERS(NV_ENC_CONFIG_AV1, outputAnnexBFormat, enableTimingInfo, enableDecoderModelInfo,
                      enableFrameIdNumbers, disableSeqHdr, repeatSeqHdr, enableIntraRefresh, chromaFormatIDC,
                      enableBitstreamPadding, enableCustomTileConfig, enableFilmGrainParams,
                      inputPixelBitDepthMinus8, pixelBitDepthMinus8))
  MEMBERS(NV_ENC_CODEC_CONFIG, h264Config, hevcConfig, av1Config)
  MEMBERS(NV_ENC_CONFIG, version, profileGUID, gopLength, frameIntervalP, monoChromeEncoding, frameFieldMode,
          mvPrecision, rcParams, encodeCodecConfig)
  MEMBERS(NV_ENC_INITIALIZE_PARAMS, version, encodeGUID, presetGUID, encodeWidth, encodeHeight, darWidth,
          darHeight, frameRateNum, frameRateDen, enableEncodeAsync, enablePTD, privDataSize, privData,
          encodeConfig, maxEncodeWidth, maxEncodeHeight, maxMEHintCountsPerBlock, tuningInfo, bufferFormat,
          numStateBuffers, outputStatsLevel)
  BIT_MEMBERS(NV_ENC_INITIALIZE_PARAMS, reportSliceOffsets, enableSubFrameWrite, enableExternalMEHints,
              enableMEOnlyMode, enableWeightedPrediction, splitEncodeMode, enableOutputInVidmem,
              enableReconFrameOutput, enableOutputStats)
  MEMBERS(NV_ENC_RECONFIGURE_PARAMS, version, reInitEncodeParams)
  BIT_MEMBERS(NV_ENC_RECONFIGURE_PARAMS, resetEncoder, forceIDR)
  MEMBERS(NV_ENC_PRESET_CONFIG, version, presetCfg)
  MEMBERS(NV_ENC_CAPS_PARAM, version, capsToQuery)
  MEMBERS(NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS, version, deviceType, device, apiVersion)
  MEMBERS(NV_ENC_SEQUENCE_PARAM_PAYLOAD, version, inBufferSize, spsId, ppsId, spsppsBuffer,
          outSPSPPSPayloadSize)
  MEMBERS(NV_ENC_EVENT_PARAMS, version, completionEvent)
}

TEST(NvencApi, members_of_pictures_lie_where_nvidias_do) {
  SKIP_FOR_NEWER_HEADERS();
  MEMBERS(NV_ENC_CREATE_INPUT_BUFFER, version, width, height, memoryHeap, bufferFmt, inputBuffer,
          pSysMemBuffer)
  MEMBERS(NV_ENC_LOCK_INPUT_BUFFER, version, inputBuffer, bufferDataPtr, pitch)
  BIT_MEMBERS(NV_ENC_LOCK_INPUT_BUFFER, doNotWait)
  MEMBERS(NV_ENC_CREATE_BITSTREAM_BUFFER, version, size, memoryHeap, bitstreamBuffer, bitstreamBufferPtr)
  MEMBERS(NV_ENC_REGISTER_RESOURCE, version, resourceType, width, height, pitch, subResourceIndex,
          resourceToRegister, registeredResource, bufferFormat, bufferUsage, pInputFencePoint, chromaOffset)
  MEMBERS(NV_ENC_MAP_INPUT_RESOURCE, version, subResourceIndex, inputResource, registeredResource,
          mappedResource, mappedBufferFmt)
  LANNER_SINCE_12(MEMBERS(NV_ENC_CLOCK_TIMESTAMP_SET, timeOffset)
                      BIT_MEMBERS(NV_ENC_CLOCK_TIMESTAMP_SET, countingType, discontinuityFlag,
                                  cntDroppedFrames, nFrames, secondsValue, minutesValue, hoursValue))
  LANNER_SINCE_12(MEMBERS(NV_ENC_TIME_CODE, displayPicStruct, clockTimestamp))
  MEMBERS(NV_ENC_SEI_PAYLOAD, payloadSize, payloadType, payload)

  MEMBERS(NV_ENC_PIC_PARAMS_H264, displayPOCSyntax, refPicFlag, colourPlaneId, forceIntraRefreshWithFrameCnt,
          sliceTypeData, sliceTypeArrayCnt, seiPayloadArrayCnt, seiPayloadArray, sliceMode, sliceModeData,
          ltrMarkFrameIdx, ltrUseFrameBitmap, ltrUsageMode, forceIntraSliceCount, forceIntraSliceIdx,
          timeCode)
  BIT_MEMBERS(NV_ENC_PIC_PARAMS_H264, constrainedFrame, sliceModeDataUpdate, ltrMarkFrame, ltrUseFrames)
  MEMBERS(NV_ENC_PIC_PARAMS_HEVC, displayPOCSyntax, refPicFlag, temporalId, forceIntraRefreshWithFrameCnt,
          sliceTypeData, sliceTypeArrayCnt, sliceMode, sliceModeData, ltrMarkFrameIdx, ltrUseFrameBitmap,
          ltrUsageMode, seiPayloadArrayCnt, seiPayloadArray, timeCode)
  BIT_MEMBERS(NV_ENC_PIC_PARAMS_HEVC, constrainedFrame, sliceModeDataUpdate, ltrMarkFrame, ltrUseFrames)
  LANNER_SINCE_12(
      MEMBERS(NV_ENC_PIC_PARAMS_AV1, displayPOCSyntax, refPicFlag, temporalId, forceIntraRefreshWithFrameCnt,
              numTileColumns, numTileRows, tileWidths, tileHeights, obuPayloadArrayCnt, obuPayloadArray,
              filmGrainParams)
          BIT_MEMBERS(NV_ENC_PIC_PARAMS_AV1, goldenFrameFlag, arfFrameFlag, arf2FrameFlag, bwdFrameFlag,
                      overlayFrameFlag, showExistingFrameFlag, errorResilientModeFlag, tileConfigUpdate,
                      enableCustomTileConfig, filmGrainParamsUpdate))
  MEMBERS(NV_ENC_CODEC_PIC_PARAMS, h264PicParams, hevcPicParams, av1PicParams)
  MEMBERS(NV_ENC_PIC_PARAMS, version, inputWidth, inputHeight, inputPitch, encodePicFlags, frameIdx,
          inputTimeStamp, inputDuration, inputBuffer, outputBitstream, completionEvent, bufferFmt,
          pictureStruct, pictureType, codecPicParams, meHintCountsPerBlock, meExternalHints, qpDeltaMap,
          qpDeltaMapSize, meHintRefPicDist, alphaBuffer, meExternalSbHints, meSbHintsCount, stateBufferIdx,
          outputReconBuffer)
  MEMBERS(NV_ENC_LOCK_BITSTREAM, version, outputBitstream, sliceOffsets, frameIdx, hwEncodeStatus, numSlices,
          bitstreamSizeInBytes, outputTimeStamp, outputDuration, bitstreamBufferPtr, pictureType,
          pictureStruct, frameAvgQP, frameSatd, ltrFrameIdx, ltrFrameBitmap, temporalId, intraMBCount,
          interMBCount, averageMVX, averageMVY, alphaLayerSizeInBytes, outputStatsPtrSize, outputStatsPtr,
          frameIdxDisplay)
  BIT_MEMBERS(NV_ENC_LOCK_BITSTREAM, doNotWait, ltrFrame, getRCStats)
  LANNER_SINCE_12(MEMBERS(NV_ENC_LOOKAHEAD_PIC_PARAMS, version, inputBuffer, pictureType))
  LANNER_SINCE_12(MEMBERS(NV_ENC_RESTORE_ENCODER_STATE_PARAMS, version, bufferIdx, state, outputBitstream,
                          completionEvent))
}

TEST(NvencApi, functions_lie_where_nvidias_do) {
  SKIP_FOR_NEWER_HEADERS();
  MEMBERS(NV_ENCODE_API_FUNCTION_LIST, version, nvEncOpenEncodeSession, nvEncGetEncodeGUIDCount,
          nvEncGetEncodeProfileGUIDCount, nvEncGetEncodeProfileGUIDs, nvEncGetEncodeGUIDs,
          nvEncGetInputFormatCount, nvEncGetInputFormats, nvEncGetEncodeCaps, nvEncGetEncodePresetCount,
          nvEncGetEncodePresetGUIDs, nvEncGetEncodePresetConfig, nvEncInitializeEncoder,
          nvEncCreateInputBuffer, nvEncDestroyInputBuffer, nvEncCreateBitstreamBuffer,
          nvEncDestroyBitstreamBuffer, nvEncEncodePicture, nvEncLockBitstream, nvEncUnlockBitstream,
          nvEncLockInputBuffer, nvEncUnlockInputBuffer, nvEncGetEncodeStats, nvEncGetSequenceParams,
          nvEncRegisterAsyncEvent, nvEncUnregisterAsyncEvent, nvEncMapInputResource, nvEncUnmapInputResource,
          nvEncDestroyEncoder, nvEncInvalidateRefFrames, nvEncOpenEncodeSessionEx, nvEncRegisterResource,
          nvEncUnregisterResource, nvEncReconfigureEncoder, nvEncCreateMVBuffer, nvEncDestroyMVBuffer,
          nvEncRunMotionEstimationOnly, nvEncGetLastErrorString, nvEncSetIOCudaStreams,
          nvEncGetEncodePresetConfigEx, nvEncGetSequenceParamEx, nvEncRestoreEncoderState,
          nvEncLookaheadPicture)
}

TEST(NvencApi, enumerators_have_the_values_of_nvidias){
    VALUES(NV_ENC_PARAMS_FRAME_FIELD_MODE_FRAME, NV_ENC_PARAMS_FRAME_FIELD_MODE_FIELD,
           NV_ENC_PARAMS_FRAME_FIELD_MODE_MBAFF, NV_ENC_PARAMS_RC_CONSTQP, NV_ENC_PARAMS_RC_VBR,
           NV_ENC_PARAMS_RC_CBR, NV_ENC_MULTI_PASS_DISABLED, NV_ENC_TWO_PASS_QUARTER_RESOLUTION,
           NV_ENC_TWO_PASS_FULL_RESOLUTION, NV_ENC_EMPHASIS_MAP_LEVEL_0, NV_ENC_EMPHASIS_MAP_LEVEL_1,
           NV_ENC_EMPHASIS_MAP_LEVEL_2, NV_ENC_EMPHASIS_MAP_LEVEL_3, NV_ENC_EMPHASIS_MAP_LEVEL_4,
           NV_ENC_EMPHASIS_MAP_LEVEL_5, NV_ENC_QP_MAP_DISABLED, NV_ENC_QP_MAP_EMPHASIS, NV_ENC_QP_MAP_DELTA,
           NV_ENC_QP_MAP, NV_ENC_PIC_STRUCT_FRAME, NV_ENC_PIC_STRUCT_FIELD_TOP_BOTTOM,
           NV_ENC_PIC_STRUCT_FIELD_BOTTOM_TOP, NV_ENC_PIC_TYPE_P, NV_ENC_PIC_TYPE_B, NV_ENC_PIC_TYPE_I,
           NV_ENC_PIC_TYPE_IDR, NV_ENC_PIC_TYPE_BI, NV_ENC_PIC_TYPE_SKIPPED, NV_ENC_PIC_TYPE_INTRA_REFRESH,
           NV_ENC_PIC_TYPE_NONREF_P, NV_ENC_PIC_TYPE_UNKNOWN, NV_ENC_MV_PRECISION_DEFAULT,
           NV_ENC_MV_PRECISION_FULL_PEL, NV_ENC_MV_PRECISION_HALF_PEL, NV_ENC_MV_PRECISION_QUARTER_PEL,
           NV_ENC_BUFFER_FORMAT_UNDEFINED, NV_ENC_BUFFER_FORMAT_NV12, NV_ENC_BUFFER_FORMAT_YV12,
           NV_ENC_BUFFER_FORMAT_IYUV, NV_ENC_BUFFER_FORMAT_YUV444, NV_ENC_BUFFER_FORMAT_YUV420_10BIT,
           NV_ENC_BUFFER_FORMAT_YUV444_10BIT, NV_ENC_BUFFER_FORMAT_ARGB, NV_ENC_BUFFER_FORMAT_ARGB10,
           NV_ENC_BUFFER_FORMAT_AYUV, NV_ENC_BUFFER_FORMAT_ABGR, NV_ENC_BUFFER_FORMAT_ABGR10,
           NV_ENC_BUFFER_FORMAT_U8, NV_ENC_LEVEL_AUTOSELECT, NV_ENC_LEVEL_H264_1, NV_ENC_LEVEL_H264_1b,
           NV_ENC_LEVEL_H264_11, NV_ENC_LEVEL_H264_12, NV_ENC_LEVEL_H264_13, NV_ENC_LEVEL_H264_2,
           NV_ENC_LEVEL_H264_21, NV_ENC_LEVEL_H264_22, NV_ENC_LEVEL_H264_3, NV_ENC_LEVEL_H264_31,
           NV_ENC_LEVEL_H264_32, NV_ENC_LEVEL_H264_4, NV_ENC_LEVEL_H264_41, NV_ENC_LEVEL_H264_42,
           NV_ENC_LEVEL_H264_5, NV_ENC_LEVEL_H264_51, NV_ENC_LEVEL_H264_52, NV_ENC_LEVEL_H264_60,
           NV_ENC_LEVEL_H264_61, NV_ENC_LEVEL_H264_62, NV_ENC_LEVEL_HEVC_1, NV_ENC_LEVEL_HEVC_2,
           NV_ENC_LEVEL_HEVC_21, NV_ENC_LEVEL_HEVC_3, NV_ENC_LEVEL_HEVC_31, NV_ENC_LEVEL_HEVC_4,
           NV_ENC_LEVEL_HEVC_41, NV_ENC_LEVEL_HEVC_5, NV_ENC_LEVEL_HEVC_51, NV_ENC_LEVEL_HEVC_52,
           NV_ENC_LEVEL_HEVC_6, NV_ENC_LEVEL_HEVC_61, NV_ENC_LEVEL_HEVC_62, NV_ENC_TIER_HEVC_MAIN,
           NV_ENC_TIER_HEVC_HIGH, NV_ENC_SUCCESS, NV_ENC_ERR_NO_ENCODE_DEVICE, NV_ENC_ERR_UNSUPPORTED_DEVICE,
           NV_ENC_ERR_INVALID_ENCODERDEVICE, NV_ENC_ERR_INVALID_DEVICE, NV_ENC_ERR_DEVICE_NOT_EXIST,
           NV_ENC_ERR_INVALID_PTR, NV_ENC_ERR_INVALID_EVENT, NV_ENC_ERR_INVALID_PARAM,
           NV_ENC_ERR_INVALID_CALL, NV_ENC_ERR_OUT_OF_MEMORY, NV_ENC_ERR_ENCODER_NOT_INITIALIZED,
           NV_ENC_ERR_UNSUPPORTED_PARAM, NV_ENC_ERR_LOCK_BUSY, NV_ENC_ERR_NOT_ENOUGH_BUFFER,
           NV_ENC_ERR_INVALID_VERSION)
        VALUES(NV_ENC_ERR_MAP_FAILED, NV_ENC_ERR_NEED_MORE_INPUT, NV_ENC_ERR_ENCODER_BUSY,
               NV_ENC_ERR_EVENT_NOT_REGISTERD, NV_ENC_ERR_GENERIC, NV_ENC_ERR_INCOMPATIBLE_CLIENT_KEY,
               NV_ENC_ERR_UNIMPLEMENTED, NV_ENC_ERR_RESOURCE_REGISTER_FAILED,
               NV_ENC_ERR_RESOURCE_NOT_REGISTERED, NV_ENC_ERR_RESOURCE_NOT_MAPPED, NV_ENC_PIC_FLAG_FORCEINTRA,
               NV_ENC_PIC_FLAG_FORCEIDR, NV_ENC_PIC_FLAG_OUTPUT_SPSPPS, NV_ENC_PIC_FLAG_EOS,
               NV_ENC_MEMORY_HEAP_AUTOSELECT, NV_ENC_MEMORY_HEAP_VID, NV_ENC_MEMORY_HEAP_SYSMEM_CACHED,
               NV_ENC_MEMORY_HEAP_SYSMEM_UNCACHED, NV_ENC_BFRAME_REF_MODE_DISABLED,
               NV_ENC_BFRAME_REF_MODE_EACH, NV_ENC_BFRAME_REF_MODE_MIDDLE,
               NV_ENC_H264_ENTROPY_CODING_MODE_AUTOSELECT, NV_ENC_H264_ENTROPY_CODING_MODE_CABAC,
               NV_ENC_H264_ENTROPY_CODING_MODE_CAVLC, NV_ENC_H264_BDIRECT_MODE_AUTOSELECT,
               NV_ENC_H264_BDIRECT_MODE_DISABLE, NV_ENC_H264_BDIRECT_MODE_TEMPORAL,
               NV_ENC_H264_BDIRECT_MODE_SPATIAL, NV_ENC_H264_FMO_AUTOSELECT, NV_ENC_H264_FMO_ENABLE,
               NV_ENC_H264_FMO_DISABLE, NV_ENC_H264_ADAPTIVE_TRANSFORM_AUTOSELECT,
               NV_ENC_H264_ADAPTIVE_TRANSFORM_DISABLE, NV_ENC_H264_ADAPTIVE_TRANSFORM_ENABLE,
               NV_ENC_STEREO_PACKING_MODE_NONE, NV_ENC_STEREO_PACKING_MODE_CHECKERBOARD,
               NV_ENC_STEREO_PACKING_MODE_COLINTERLEAVE, NV_ENC_STEREO_PACKING_MODE_ROWINTERLEAVE,
               NV_ENC_STEREO_PACKING_MODE_SIDEBYSIDE, NV_ENC_STEREO_PACKING_MODE_TOPBOTTOM,
               NV_ENC_STEREO_PACKING_MODE_FRAMESEQ, NV_ENC_INPUT_RESOURCE_TYPE_DIRECTX,
               NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR, NV_ENC_INPUT_RESOURCE_TYPE_CUDAARRAY,
               NV_ENC_INPUT_RESOURCE_TYPE_OPENGL_TEX, NV_ENC_INPUT_IMAGE, NV_ENC_OUTPUT_MOTION_VECTOR,
               NV_ENC_OUTPUT_BITSTREAM, NV_ENC_DEVICE_TYPE_DIRECTX, NV_ENC_DEVICE_TYPE_CUDA,
               NV_ENC_DEVICE_TYPE_OPENGL, NV_ENC_NUM_REF_FRAMES_AUTOSELECT, NV_ENC_NUM_REF_FRAMES_1,
               NV_ENC_NUM_REF_FRAMES_2, NV_ENC_NUM_REF_FRAMES_3, NV_ENC_NUM_REF_FRAMES_4,
               NV_ENC_NUM_REF_FRAMES_5, NV_ENC_NUM_REF_FRAMES_6, NV_ENC_NUM_REF_FRAMES_7,
               NV_ENC_CAPS_NUM_MAX_BFRAMES, NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES,
               NV_ENC_CAPS_SUPPORT_FIELD_ENCODING, NV_ENC_CAPS_SUPPORT_MONOCHROME, NV_ENC_CAPS_SUPPORT_FMO,
               NV_ENC_CAPS_SUPPORT_QPELMV, NV_ENC_CAPS_SUPPORT_BDIRECT_MODE, NV_ENC_CAPS_SUPPORT_CABAC,
               NV_ENC_CAPS_SUPPORT_ADAPTIVE_TRANSFORM, NV_ENC_CAPS_SUPPORT_STEREO_MVC,
               NV_ENC_CAPS_NUM_MAX_TEMPORAL_LAYERS, NV_ENC_CAPS_SUPPORT_HIERARCHICAL_PFRAMES,
               NV_ENC_CAPS_SUPPORT_HIERARCHICAL_BFRAMES, NV_ENC_CAPS_LEVEL_MAX, NV_ENC_CAPS_LEVEL_MIN,
               NV_ENC_CAPS_SEPARATE_COLOUR_PLANE, NV_ENC_CAPS_WIDTH_MAX, NV_ENC_CAPS_HEIGHT_MAX,
               NV_ENC_CAPS_SUPPORT_TEMPORAL_SVC, NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE,
               NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE, NV_ENC_CAPS_SUPPORT_DYN_FORCE_CONSTQP,
               NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE, NV_ENC_CAPS_SUPPORT_SUBFRAME_READBACK,
               NV_ENC_CAPS_SUPPORT_CONSTRAINED_ENCODING, NV_ENC_CAPS_SUPPORT_INTRA_REFRESH,
               NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE, NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE,
               NV_ENC_CAPS_SUPPORT_REF_PIC_INVALIDATION, NV_ENC_CAPS_PREPROC_SUPPORT,
               NV_ENC_CAPS_ASYNC_ENCODE_SUPPORT, NV_ENC_CAPS_MB_NUM_MAX, NV_ENC_CAPS_MB_PER_SEC_MAX,
               NV_ENC_CAPS_SUPPORT_YUV444_ENCODE, NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE,
               NV_ENC_CAPS_SUPPORT_SAO, NV_ENC_CAPS_SUPPORT_MEONLY_MODE, NV_ENC_CAPS_SUPPORT_LOOKAHEAD,
               NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ, NV_ENC_CAPS_SUPPORT_10BIT_ENCODE,
               NV_ENC_CAPS_NUM_MAX_LTR_FRAMES)
            VALUES(NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION, NV_ENC_CAPS_DYNAMIC_QUERY_ENCODER_CAPACITY,
                   NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE, NV_ENC_CAPS_SUPPORT_EMPHASIS_LEVEL_MAP,
                   NV_ENC_CAPS_WIDTH_MIN, NV_ENC_CAPS_HEIGHT_MIN, NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES,
                   NV_ENC_CAPS_SUPPORT_ALPHA_LAYER_ENCODING, NV_ENC_CAPS_NUM_ENCODER_ENGINES,
                   NV_ENC_CAPS_SINGLE_SLICE_INTRA_REFRESH, NV_ENC_HEVC_CUSIZE_AUTOSELECT,
                   NV_ENC_HEVC_CUSIZE_8x8, NV_ENC_HEVC_CUSIZE_16x16, NV_ENC_HEVC_CUSIZE_32x32,
                   NV_ENC_HEVC_CUSIZE_64x64, NV_ENC_TUNING_INFO_UNDEFINED, NV_ENC_TUNING_INFO_HIGH_QUALITY,
                   NV_ENC_TUNING_INFO_LOW_LATENCY, NV_ENC_TUNING_INFO_ULTRA_LOW_LATENCY,
                   NV_ENC_TUNING_INFO_LOSSLESS)}

#if NVENCAPI_MAJOR_VERSION > 12 || (NVENCAPI_MAJOR_VERSION == 12 && NVENCAPI_MINOR_VERSION >= 1)
TEST(NvencApi, newer_enumerators_have_the_values_of_nvidias){VALUES(
    NV_ENC_STATE_RESTORE_FULL, NV_ENC_STATE_RESTORE_RATE_CONTROL, NV_ENC_STATE_RESTORE_ENCODE,
    NV_ENC_OUTPUT_STATS_NONE, NV_ENC_OUTPUT_STATS_BLOCK_LEVEL, NV_ENC_OUTPUT_STATS_ROW_LEVEL,
    NV_ENC_PIC_STRUCT_DISPLAY_FRAME, NV_ENC_PIC_STRUCT_DISPLAY_FIELD_TOP_BOTTOM,
    NV_ENC_PIC_STRUCT_DISPLAY_FIELD_BOTTOM_TOP, NV_ENC_PIC_STRUCT_DISPLAY_FRAME_DOUBLING,
    NV_ENC_PIC_STRUCT_DISPLAY_FRAME_TRIPLING, NV_ENC_LEVEL_AV1_2, NV_ENC_LEVEL_AV1_21, NV_ENC_LEVEL_AV1_22,
    NV_ENC_LEVEL_AV1_23, NV_ENC_LEVEL_AV1_3, NV_ENC_LEVEL_AV1_31, NV_ENC_LEVEL_AV1_32, NV_ENC_LEVEL_AV1_33,
    NV_ENC_LEVEL_AV1_4, NV_ENC_LEVEL_AV1_41, NV_ENC_LEVEL_AV1_42, NV_ENC_LEVEL_AV1_43, NV_ENC_LEVEL_AV1_5,
    NV_ENC_LEVEL_AV1_51, NV_ENC_LEVEL_AV1_52, NV_ENC_LEVEL_AV1_53, NV_ENC_LEVEL_AV1_6, NV_ENC_LEVEL_AV1_61,
    NV_ENC_LEVEL_AV1_62, NV_ENC_LEVEL_AV1_63, NV_ENC_LEVEL_AV1_7, NV_ENC_LEVEL_AV1_71, NV_ENC_LEVEL_AV1_72,
    NV_ENC_LEVEL_AV1_73, NV_ENC_LEVEL_AV1_AUTOSELECT, NV_ENC_TIER_AV1_0, NV_ENC_TIER_AV1_1,
    NV_ENC_ERR_NEED_MORE_OUTPUT, NV_ENC_PIC_FLAG_DISABLE_ENC_STATE_ADVANCE,
    NV_ENC_PIC_FLAG_OUTPUT_RECON_FRAME, NV_ENC_OUTPUT_RECON, NV_ENC_CAPS_DISABLE_ENC_STATE_ADVANCE,
    NV_ENC_CAPS_OUTPUT_RECON_SURFACE, NV_ENC_CAPS_OUTPUT_BLOCK_STATS, NV_ENC_CAPS_OUTPUT_ROW_STATS,
    NV_ENC_AV1_PART_SIZE_AUTOSELECT, NV_ENC_AV1_PART_SIZE_4x4, NV_ENC_AV1_PART_SIZE_8x8,
    NV_ENC_AV1_PART_SIZE_16x16, NV_ENC_AV1_PART_SIZE_32x32, NV_ENC_AV1_PART_SIZE_64x64,
    NV_ENC_VUI_VIDEO_FORMAT_COMPONENT, NV_ENC_VUI_VIDEO_FORMAT_PAL, NV_ENC_VUI_VIDEO_FORMAT_NTSC,
    NV_ENC_VUI_VIDEO_FORMAT_SECAM, NV_ENC_VUI_VIDEO_FORMAT_MAC, NV_ENC_VUI_VIDEO_FORMAT_UNSPECIFIED,
    NV_ENC_VUI_COLOR_PRIMARIES_UNDEFINED, NV_ENC_VUI_COLOR_PRIMARIES_BT709,
    NV_ENC_VUI_COLOR_PRIMARIES_UNSPECIFIED, NV_ENC_VUI_COLOR_PRIMARIES_RESERVED,
    NV_ENC_VUI_COLOR_PRIMARIES_BT470M, NV_ENC_VUI_COLOR_PRIMARIES_BT470BG,
    NV_ENC_VUI_COLOR_PRIMARIES_SMPTE170M, NV_ENC_VUI_COLOR_PRIMARIES_SMPTE240M,
    NV_ENC_VUI_COLOR_PRIMARIES_FILM, NV_ENC_VUI_COLOR_PRIMARIES_BT2020, NV_ENC_VUI_COLOR_PRIMARIES_SMPTE428,
    NV_ENC_VUI_COLOR_PRIMARIES_SMPTE431, NV_ENC_VUI_COLOR_PRIMARIES_SMPTE432,
    NV_ENC_VUI_COLOR_PRIMARIES_JEDEC_P22, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_UNDEFINED,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_BT709, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_UNSPECIFIED,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_RESERVED, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_BT470M,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_BT470BG, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SMPTE170M,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SMPTE240M, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_LINEAR,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_LOG, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_LOG_SQRT,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_IEC61966_2_4, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_BT1361_ECG,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SRGB, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_BT2020_10,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_BT2020_12, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SMPTE2084,
    NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SMPTE428, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_ARIB_STD_B67,
    NV_ENC_VUI_MATRIX_COEFFS_RGB, NV_ENC_VUI_MATRIX_COEFFS_BT709, NV_ENC_VUI_MATRIX_COEFFS_UNSPECIFIED,
    NV_ENC_VUI_MATRIX_COEFFS_RESERVED, NV_ENC_VUI_MATRIX_COEFFS_FCC, NV_ENC_VUI_MATRIX_COEFFS_BT470BG,
    NV_ENC_VUI_MATRIX_COEFFS_SMPTE170M, NV_ENC_VUI_MATRIX_COEFFS_SMPTE240M, NV_ENC_VUI_MATRIX_COEFFS_YCGCO,
    NV_ENC_VUI_MATRIX_COEFFS_BT2020_NCL, NV_ENC_VUI_MATRIX_COEFFS_BT2020_CL,
    NV_ENC_VUI_MATRIX_COEFFS_SMPTE2085, NV_ENC_SPLIT_AUTO_MODE, NV_ENC_SPLIT_AUTO_FORCED_MODE,
    NV_ENC_SPLIT_TWO_FORCED_MODE, NV_ENC_SPLIT_THREE_FORCED_MODE, NV_ENC_SPLIT_DISABLE_MODE)}
#endif

TEST(NvencApi, guids_are_nvidias){
    IDENTIFIERS(NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID, NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID,
                NV_ENC_H264_PROFILE_BASELINE_GUID, NV_ENC_H264_PROFILE_MAIN_GUID,
                NV_ENC_H264_PROFILE_HIGH_GUID, NV_ENC_H264_PROFILE_HIGH_444_GUID,
                NV_ENC_H264_PROFILE_STEREO_GUID, NV_ENC_H264_PROFILE_PROGRESSIVE_HIGH_GUID,
                NV_ENC_H264_PROFILE_CONSTRAINED_HIGH_GUID, NV_ENC_HEVC_PROFILE_MAIN_GUID,
                NV_ENC_HEVC_PROFILE_MAIN10_GUID, NV_ENC_HEVC_PROFILE_FREXT_GUID, NV_ENC_PRESET_P1_GUID,
                NV_ENC_PRESET_P2_GUID, NV_ENC_PRESET_P3_GUID, NV_ENC_PRESET_P4_GUID, NV_ENC_PRESET_P5_GUID,
                NV_ENC_PRESET_P6_GUID, NV_ENC_PRESET_P7_GUID)
        LANNER_SINCE_12(IDENTIFIERS(NV_ENC_CODEC_AV1_GUID, NV_ENC_AV1_PROFILE_MAIN_GUID))}

TEST(NvencApi, versions_are_nvidias) {
  if (!same_version)
    GTEST_SKIP() << "nvEncodeAPI.h of this machine is version " << NVENCAPI_MAJOR_VERSION << "."
                 << NVENCAPI_MINOR_VERSION << ", the declarations are of " << api_major << "." << api_minor
                 << "; it lacks " << unknown().size() << " of their members";
  EXPECT_EQ(api_version, static_cast<uint32_t>(NVENCAPI_VERSION));
  EXPECT_EQ(infinite_gop_length, NVENC_INFINITE_GOPLENGTH);
  EXPECT_EQ(max_sequence_header_bytes, static_cast<uint32_t>(NV_MAX_SEQ_HDR_LEN));
#define SAME_VERSION(name) EXPECT_EQ(version_of<lanner::nvenc::name>, static_cast<uint32_t>(name##_VER))
  SAME_VERSION(NV_ENC_RC_PARAMS);
  SAME_VERSION(NV_ENC_CONFIG);
  SAME_VERSION(NV_ENC_INITIALIZE_PARAMS);
  SAME_VERSION(NV_ENC_RECONFIGURE_PARAMS);
  SAME_VERSION(NV_ENC_PRESET_CONFIG);
  SAME_VERSION(NV_ENC_CAPS_PARAM);
  SAME_VERSION(NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS);
  SAME_VERSION(NV_ENC_SEQUENCE_PARAM_PAYLOAD);
  SAME_VERSION(NV_ENC_EVENT_PARAMS);
  SAME_VERSION(NV_ENC_CREATE_INPUT_BUFFER);
  SAME_VERSION(NV_ENC_LOCK_INPUT_BUFFER);
  SAME_VERSION(NV_ENC_CREATE_BITSTREAM_BUFFER);
  SAME_VERSION(NV_ENC_REGISTER_RESOURCE);
  SAME_VERSION(NV_ENC_MAP_INPUT_RESOURCE);
  SAME_VERSION(NV_ENC_PIC_PARAMS);
  SAME_VERSION(NV_ENC_LOCK_BITSTREAM);
  LANNER_SINCE_12(SAME_VERSION(NV_ENC_LOOKAHEAD_PIC_PARAMS));
  LANNER_SINCE_12(SAME_VERSION(NV_ENC_RESTORE_ENCODER_STATE_PARAMS));
  SAME_VERSION(NV_ENCODE_API_FUNCTION_LIST);
}

} // namespace
} // namespace lanner::nvenc

#else

TEST(NvencApi, is_nvidias) {
  GTEST_SKIP()
      << "nvEncodeAPI.h is not installed: the declarations of the NVENC API are compared with nothing";
}

#endif
