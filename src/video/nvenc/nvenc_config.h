#pragma once
// Structures that open and configure a session of the NVENC API, version 12.1.
// Fields keep their names; those called reserved are 0.

#include "video/nvenc/nvenc_guids.h"

namespace lanner::nvenc {

/// Quantisers by picture type; negative ones as two's complement.
struct NV_ENC_QP {
  uint32_t qpInterP, qpInterB, qpIntra;
};

/// Rate control. Rates in bits a second, the VBV in bits; 0 leaves a value to the driver.
struct NV_ENC_RC_PARAMS {
  uint32_t version;
  NV_ENC_PARAMS_RC_MODE rateControlMode;
  NV_ENC_QP constQP;
  uint32_t averageBitRate, maxBitRate, vbvBufferSize, vbvInitialDelay;
  uint32_t enableMinQP : 1, enableMaxQP : 1, enableInitialRCQP : 1, enableAQ : 1, reservedBitField1 : 1,
      enableLookahead : 1, disableIadapt : 1, disableBadapt : 1, enableTemporalAQ : 1, zeroReorderDelay : 1,
      enableNonRefP : 1, strictGOPTarget : 1, aqStrength : 4, enableExtLookahead : 1, reservedBitFields : 15;
  NV_ENC_QP minQP, maxQP, initialRCQP;
  uint32_t temporallayerIdxMask;
  uint8_t temporalLayerQP[8];
  uint8_t targetQuality;    ///< Of VBR: 1 to 51; 0: by the rate.
  uint8_t targetQualityLSB; ///< 256ths of it.
  uint16_t lookaheadDepth;
  uint8_t lowDelayKeyFrameScale;
  int8_t yDcQPIndexOffset, uDcQPIndexOffset, vDcQPIndexOffset;
  NV_ENC_QP_MAP_MODE qpMapMode;
  NV_ENC_MULTI_PASS multiPass;
  uint32_t alphaLayerBitrateRatio;
  int8_t cbQPIndexOffset, crQPIndexOffset;
  uint16_t reserved2;
  uint32_t reserved[4];
};

/// Video usability information (ITU-T H.264 Annex E, H.265 Annex E), for both codecs.
struct NV_ENC_CONFIG_H264_VUI_PARAMETERS {
  uint32_t overscanInfoPresentFlag, overscanInfo, videoSignalTypePresentFlag;
  NV_ENC_VUI_VIDEO_FORMAT videoFormat;
  uint32_t videoFullRangeFlag, colourDescriptionPresentFlag;
  NV_ENC_VUI_COLOR_PRIMARIES colourPrimaries;
  NV_ENC_VUI_TRANSFER_CHARACTERISTIC transferCharacteristics;
  NV_ENC_VUI_MATRIX_COEFFS colourMatrix;
  uint32_t chromaSampleLocationFlag, chromaSampleLocationTop, chromaSampleLocationBot,
      bitstreamRestrictionFlag, timingInfoPresentFlag, numUnitInTicks, timeScale, reserved[12];
};

/// Candidates that hints of motion give for each block.
struct NVENC_EXTERNAL_ME_HINT_COUNTS_PER_BLOCKTYPE {
  uint32_t numCandsPerBlk16x16 : 4, numCandsPerBlk16x8 : 4, numCandsPerBlk8x16 : 4, numCandsPerBlk8x8 : 4,
      numCandsPerSb : 8, reserved : 8;
  uint32_t reserved1[3];
};

/// H.264's part of a configuration.
struct NV_ENC_CONFIG_H264 {
  uint32_t enableTemporalSVC : 1, enableStereoMVC : 1, hierarchicalPFrames : 1, hierarchicalBFrames : 1,
      outputBufferingPeriodSEI : 1, outputPictureTimingSEI : 1, outputAUD : 1, disableSPSPPS : 1,
      outputFramePackingSEI : 1, outputRecoveryPointSEI : 1, enableIntraRefresh : 1,
      enableConstrainedEncoding : 1, repeatSPSPPS : 1, enableVFR : 1, enableLTR : 1,
      qpPrimeYZeroTransformBypassFlag : 1, useConstrainedIntraPred : 1, enableFillerDataInsertion : 1,
      disableSVCPrefixNalu : 1, enableScalabilityInfoSEI : 1, singleSliceIntraRefresh : 1, enableTimeCode : 1,
      reservedBitFields : 10;
  uint32_t level;
  uint32_t idrPeriod; ///< 0: gopLength.
  uint32_t separateColourPlaneFlag, disableDeblockingFilterIDC, numTemporalLayers, spsId, ppsId;
  NV_ENC_H264_ADAPTIVE_TRANSFORM_MODE adaptiveTransformMode;
  NV_ENC_H264_FMO_MODE fmoMode;
  NV_ENC_H264_BDIRECT_MODE bdirectMode;
  NV_ENC_H264_ENTROPY_CODING_MODE entropyCodingMode;
  NV_ENC_STEREO_PACKING_MODE stereoMode;
  uint32_t intraRefreshPeriod, intraRefreshCnt, maxNumRefFrames;
  uint32_t sliceMode; ///< sliceModeData counts, for 0: macroblocks, 1: bytes, 2: rows, 3: slices.
  uint32_t sliceModeData;
  NV_ENC_CONFIG_H264_VUI_PARAMETERS h264VUIParameters;
  uint32_t ltrNumFrames, ltrTrustMode, chromaFormatIDC, maxTemporalLayers;
  NV_ENC_BFRAME_REF_MODE useBFramesAsRef;
  NV_ENC_NUM_REF_FRAMES numRefL0, numRefL1;
  uint32_t reserved1[267];
  void* reserved2[64];
};

/// HEVC's part of a configuration.
struct NV_ENC_CONFIG_HEVC {
  uint32_t level, tier;
  NV_ENC_HEVC_CUSIZE minCUSize, maxCUSize;
  uint32_t useConstrainedIntraPred : 1, disableDeblockAcrossSliceBoundary : 1, outputBufferingPeriodSEI : 1,
      outputPictureTimingSEI : 1, outputAUD : 1, enableLTR : 1, disableSPSPPS : 1, repeatSPSPPS : 1,
      enableIntraRefresh : 1, chromaFormatIDC : 2, pixelBitDepthMinus8 : 3, enableFillerDataInsertion : 1,
      enableConstrainedEncoding : 1, enableAlphaLayerEncoding : 1, singleSliceIntraRefresh : 1,
      outputRecoveryPointSEI : 1, outputTimeCodeSEI : 1, reserved : 12;
  uint32_t idrPeriod; ///< 0: gopLength.
  uint32_t intraRefreshPeriod, intraRefreshCnt, maxNumRefFramesInDPB, ltrNumFrames, vpsId, spsId, ppsId;
  uint32_t sliceMode; ///< sliceModeData counts, for 0: CTUs, 1: bytes, 2: rows, 3: slices.
  uint32_t sliceModeData, maxTemporalLayersMinus1;
  NV_ENC_CONFIG_H264_VUI_PARAMETERS hevcVUIParameters;
  uint32_t ltrTrustMode;
  NV_ENC_BFRAME_REF_MODE useBFramesAsRef;
  NV_ENC_NUM_REF_FRAMES numRefL0, numRefL1;
  uint32_t reserved1[214];
  void* reserved2[64];
};

/// Film grain as film_grain_params of the AV1 specification has it.
struct NV_ENC_FILM_GRAIN_PARAMS_AV1 {
  uint32_t applyGrain : 1, chromaScalingFromLuma : 1, overlapFlag : 1, clipToRestrictedRange : 1,
      grainScalingMinus8 : 2, arCoeffLag : 2, numYPoints : 4, numCbPoints : 4, numCrPoints : 4,
      arCoeffShiftMinus6 : 2, grainScaleShift : 2, reserved1 : 8;
  uint8_t pointYValue[14], pointYScaling[14], pointCbValue[10], pointCbScaling[10], pointCrValue[10],
      pointCrScaling[10], arCoeffsYPlus128[24], arCoeffsCbPlus128[25], arCoeffsCrPlus128[25], reserved2[2],
      cbMult, cbLumaMult;
  uint16_t cbOffset;
  uint8_t crMult, crLumaMult;
  uint16_t crOffset;
};

/// AV1's part of a configuration.
struct NV_ENC_CONFIG_AV1 {
  uint32_t level, tier;
  NV_ENC_AV1_PART_SIZE minPartSize, maxPartSize;
  uint32_t outputAnnexBFormat : 1, enableTimingInfo : 1, enableDecoderModelInfo : 1, enableFrameIdNumbers : 1,
      disableSeqHdr : 1, repeatSeqHdr : 1, enableIntraRefresh : 1, chromaFormatIDC : 2,
      enableBitstreamPadding : 1, enableCustomTileConfig : 1, enableFilmGrainParams : 1,
      inputPixelBitDepthMinus8 : 3, pixelBitDepthMinus8 : 3, reserved : 14;
  uint32_t idrPeriod; ///< 0: gopLength.
  uint32_t intraRefreshPeriod, intraRefreshCnt, maxNumRefFramesInDPB, numTileColumns, numTileRows;
  uint32_t* tileWidths;
  uint32_t* tileHeights;
  uint32_t maxTemporalLayersMinus1;
  NV_ENC_VUI_COLOR_PRIMARIES colorPrimaries;
  NV_ENC_VUI_TRANSFER_CHARACTERISTIC transferCharacteristics;
  NV_ENC_VUI_MATRIX_COEFFS matrixCoefficients;
  uint32_t colorRange, chromaSamplePosition;
  NV_ENC_BFRAME_REF_MODE useBFramesAsRef;
  NV_ENC_FILM_GRAIN_PARAMS_AV1* filmGrainParams;
  NV_ENC_NUM_REF_FRAMES numFwdRefs, numBwdRefs;
  uint32_t reserved1[235];
  void* reserved2[62];
};

/// The part of the codec that the session is for.
union NV_ENC_CODEC_CONFIG {
  NV_ENC_CONFIG_H264 h264Config;
  NV_ENC_CONFIG_HEVC hevcConfig;
  NV_ENC_CONFIG_AV1 av1Config;
  uint32_t reserved[320];
};

/// How pictures are encoded. nvEncGetEncodePresetConfigEx fills one in.
struct NV_ENC_CONFIG {
  uint32_t version;
  GUID profileGUID;
  uint32_t gopLength;
  int32_t frameIntervalP; ///< 0: I pictures alone, 1: no B pictures, n: n - 1 of them.
  uint32_t monoChromeEncoding;
  NV_ENC_PARAMS_FRAME_FIELD_MODE frameFieldMode;
  NV_ENC_MV_PRECISION mvPrecision;
  NV_ENC_RC_PARAMS rcParams;
  NV_ENC_CODEC_CONFIG encodeCodecConfig;
  uint32_t reserved[278];
  void* reserved2[64];
};

/// What a session encodes.
struct NV_ENC_INITIALIZE_PARAMS {
  uint32_t version;
  GUID encodeGUID, presetGUID;
  uint32_t encodeWidth, encodeHeight, darWidth, darHeight, frameRateNum, frameRateDen;
  uint32_t enableEncodeAsync; ///< Windows alone.
  uint32_t enablePTD;         ///< 1: the library decides picture types and takes pictures in display order.
  uint32_t reportSliceOffsets : 1, enableSubFrameWrite : 1, enableExternalMEHints : 1, enableMEOnlyMode : 1,
      enableWeightedPrediction : 1, splitEncodeMode : 4, enableOutputInVidmem : 1, enableReconFrameOutput : 1,
      enableOutputStats : 1, reservedBitFields : 20;
  uint32_t privDataSize;
  void* privData;
  NV_ENC_CONFIG* encodeConfig;
  uint32_t maxEncodeWidth; ///< 0: the size does not change.
  uint32_t maxEncodeHeight;
  NVENC_EXTERNAL_ME_HINT_COUNTS_PER_BLOCKTYPE maxMEHintCountsPerBlock[2];
  NV_ENC_TUNING_INFO tuningInfo;
  NV_ENC_BUFFER_FORMAT bufferFormat;
  uint32_t numStateBuffers;
  NV_ENC_OUTPUT_STATS_LEVEL outputStatsLevel;
  uint32_t reserved[285];
  void* reserved2[64];
};

/// What changes in a session: all of it is given again. The GOP pattern, the largest size, who decides
/// picture types and the asynchronous mode stay.
struct NV_ENC_RECONFIGURE_PARAMS {
  uint32_t version;
  NV_ENC_INITIALIZE_PARAMS reInitEncodeParams;
  uint32_t resetEncoder : 1, forceIDR : 1, reserved : 30;
};

/// What nvEncGetEncodePresetConfigEx fills in; the versions of both structures are the caller's.
struct NV_ENC_PRESET_CONFIG {
  uint32_t version;
  NV_ENC_CONFIG presetCfg;
  uint32_t reserved1[255];
  void* reserved2[64];
};

struct NV_ENC_CAPS_PARAM {
  uint32_t version;
  NV_ENC_CAPS capsToQuery;
  uint32_t reserved[62];
};

/// Which device a session is on.
struct NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS {
  uint32_t version;
  NV_ENC_DEVICE_TYPE deviceType;
  void* device; ///< A CUcontext.
  void* reserved;
  uint32_t apiVersion, reserved1[253];
  void* reserved2[64];
};

/// Where parameter sets are written to.
struct NV_ENC_SEQUENCE_PARAM_PAYLOAD {
  uint32_t version;
  uint32_t inBufferSize; ///< In bytes.
  uint32_t spsId, ppsId;
  void* spsppsBuffer;
  uint32_t* outSPSPPSPayloadSize;
  uint32_t reserved[250];
  void* reserved2[64];
};

struct NV_ENC_EVENT_PARAMS {
  uint32_t version, reserved;
  void* completionEvent;
  uint32_t reserved1[253];
  void* reserved2[64];
};

} // namespace lanner::nvenc
