#pragma once
// Structures for buffers and pictures of the NVENC API, version 12.1.
// Fields keep their names; those called reserved are 0.

#include "video/nvenc/nvenc_config.h"

namespace lanner::nvenc {

using NV_ENC_INPUT_PTR = void*;      ///< An input buffer, or a mapped resource.
using NV_ENC_OUTPUT_PTR = void*;     ///< A bitstream buffer.
using NV_ENC_REGISTERED_PTR = void*; ///< A registered resource.
using NV_ENC_CUSTREAM_PTR = void*;   ///< Address of a CUstream variable, not the stream.

/// An input picture in memory of the library.
struct NV_ENC_CREATE_INPUT_BUFFER {
  uint32_t version, width, height;
  NV_ENC_MEMORY_HEAP memoryHeap;
  NV_ENC_BUFFER_FORMAT bufferFmt;
  uint32_t reserved;
  NV_ENC_INPUT_PTR inputBuffer;
  void* pSysMemBuffer;
  uint32_t reserved1[57];
  void* reserved2[63];
};

/// Where an input picture is written to; planes follow each other with no rows between them.
struct NV_ENC_LOCK_INPUT_BUFFER {
  uint32_t version;
  uint32_t doNotWait : 1, reservedBitFields : 31;
  NV_ENC_INPUT_PTR inputBuffer;
  void* bufferDataPtr;
  uint32_t pitch, reserved1[251];
  void* reserved2[64];
};

/// Where an encoded picture is written to.
struct NV_ENC_CREATE_BITSTREAM_BUFFER {
  uint32_t version, size;
  NV_ENC_MEMORY_HEAP memoryHeap;
  uint32_t reserved;
  NV_ENC_OUTPUT_PTR bitstreamBuffer;
  void* bitstreamBufferPtr;
  uint32_t reserved1[58];
  void* reserved2[64];
};

/// Memory of the caller that pictures are read from; planes follow each other with no rows between them.
struct NV_ENC_REGISTER_RESOURCE {
  uint32_t version;
  NV_ENC_INPUT_RESOURCE_TYPE resourceType;
  uint32_t width, height;
  uint32_t pitch; ///< In bytes.
  uint32_t subResourceIndex;
  void* resourceToRegister;
  NV_ENC_REGISTERED_PTR registeredResource;
  NV_ENC_BUFFER_FORMAT bufferFormat;
  NV_ENC_BUFFER_USAGE bufferUsage;
  void* pInputFencePoint;
  uint32_t chromaOffset[2], reserved1[245];
  void* reserved2[61];
};

/// Maps a registered resource for one picture: before nvEncEncodePicture, until its bitstream was locked.
struct NV_ENC_MAP_INPUT_RESOURCE {
  uint32_t version, subResourceIndex;
  void* inputResource;
  NV_ENC_REGISTERED_PTR registeredResource;
  NV_ENC_INPUT_PTR mappedResource;
  NV_ENC_BUFFER_FORMAT mappedBufferFmt;
  uint32_t reserved1[251];
  void* reserved2[63];
};

struct NV_ENC_CLOCK_TIMESTAMP_SET {
  uint32_t countingType : 1, discontinuityFlag : 1, cntDroppedFrames : 1, nFrames : 8, secondsValue : 6,
      minutesValue : 6, hoursValue : 5, reserved2 : 4;
  uint32_t timeOffset;
};

struct NV_ENC_TIME_CODE {
  NV_ENC_DISPLAY_PIC_STRUCT displayPicStruct;
  NV_ENC_CLOCK_TIMESTAMP_SET clockTimestamp[3];
};

/// An SEI message (H.264, HEVC) or a metadata OBU (AV1) without its header.
struct NV_ENC_SEI_PAYLOAD {
  uint32_t payloadSize, payloadType;
  uint8_t* payload;
};

union NV_ENC_PIC_PARAMS_H264_EXT {
  uint32_t reserved1[32];
  void* aligned;
};

struct NV_ENC_PIC_PARAMS_H264 {
  uint32_t displayPOCSyntax, reserved3, refPicFlag, colourPlaneId, forceIntraRefreshWithFrameCnt;
  uint32_t constrainedFrame : 1, sliceModeDataUpdate : 1, ltrMarkFrame : 1, ltrUseFrames : 1,
      reservedBitFields : 28;
  uint8_t* sliceTypeData;
  uint32_t sliceTypeArrayCnt, seiPayloadArrayCnt;
  NV_ENC_SEI_PAYLOAD* seiPayloadArray;
  uint32_t sliceMode, sliceModeData, ltrMarkFrameIdx, ltrUseFrameBitmap, ltrUsageMode, forceIntraSliceCount;
  uint32_t* forceIntraSliceIdx;
  NV_ENC_PIC_PARAMS_H264_EXT h264ExtPicParams;
  NV_ENC_TIME_CODE timeCode;
  uint32_t reserved[203];
  void* reserved2[61];
};

struct NV_ENC_PIC_PARAMS_HEVC {
  uint32_t displayPOCSyntax, refPicFlag, temporalId, forceIntraRefreshWithFrameCnt;
  uint32_t constrainedFrame : 1, sliceModeDataUpdate : 1, ltrMarkFrame : 1, ltrUseFrames : 1,
      reservedBitFields : 28;
  uint8_t* sliceTypeData;
  uint32_t sliceTypeArrayCnt, sliceMode, sliceModeData, ltrMarkFrameIdx, ltrUseFrameBitmap, ltrUsageMode,
      seiPayloadArrayCnt, reserved;
  NV_ENC_SEI_PAYLOAD* seiPayloadArray;
  NV_ENC_TIME_CODE timeCode;
  uint32_t reserved2[237];
  void* reserved3[61];
};

struct NV_ENC_PIC_PARAMS_AV1 {
  uint32_t displayPOCSyntax, refPicFlag, temporalId, forceIntraRefreshWithFrameCnt;
  uint32_t goldenFrameFlag : 1, arfFrameFlag : 1, arf2FrameFlag : 1, bwdFrameFlag : 1, overlayFrameFlag : 1,
      showExistingFrameFlag : 1, errorResilientModeFlag : 1, tileConfigUpdate : 1, enableCustomTileConfig : 1,
      filmGrainParamsUpdate : 1, reservedBitFields : 22;
  uint32_t numTileColumns, numTileRows;
  uint32_t* tileWidths;
  uint32_t* tileHeights;
  uint32_t obuPayloadArrayCnt, reserved;
  NV_ENC_SEI_PAYLOAD* obuPayloadArray;
  NV_ENC_FILM_GRAIN_PARAMS_AV1* filmGrainParams;
  uint32_t reserved2[247];
  void* reserved3[61];
};

union NV_ENC_CODEC_PIC_PARAMS {
  NV_ENC_PIC_PARAMS_H264 h264PicParams;
  NV_ENC_PIC_PARAMS_HEVC hevcPicParams;
  NV_ENC_PIC_PARAMS_AV1 av1PicParams;
  uint32_t reserved[256];
};

/// One picture, or the end of the stream: NV_ENC_PIC_FLAG_EOS and no buffers.
struct NV_ENC_PIC_PARAMS {
  uint32_t version, inputWidth, inputHeight, inputPitch, encodePicFlags, frameIdx;
  uint64_t inputTimeStamp; ///< Opaque: given back with the picture.
  uint64_t inputDuration;
  NV_ENC_INPUT_PTR inputBuffer;
  NV_ENC_OUTPUT_PTR outputBitstream;
  void* completionEvent;
  NV_ENC_BUFFER_FORMAT bufferFmt;
  NV_ENC_PIC_STRUCT pictureStruct;
  NV_ENC_PIC_TYPE pictureType;
  NV_ENC_CODEC_PIC_PARAMS codecPicParams;
  NVENC_EXTERNAL_ME_HINT_COUNTS_PER_BLOCKTYPE meHintCountsPerBlock[2];
  void* meExternalHints;
  uint32_t reserved1[6];
  void* reserved2[2];
  int8_t* qpDeltaMap;
  uint32_t qpDeltaMapSize, reservedBitFields;
  uint16_t meHintRefPicDist[2];
  NV_ENC_INPUT_PTR alphaBuffer;
  void* meExternalSbHints;
  uint32_t meSbHintsCount, stateBufferIdx;
  NV_ENC_OUTPUT_PTR outputReconBuffer;
  uint32_t reserved3[284];
  void* reserved4[57];
};

/// An encoded picture, valid until it is unlocked.
struct NV_ENC_LOCK_BITSTREAM {
  uint32_t version;
  uint32_t doNotWait : 1, ltrFrame : 1, getRCStats : 1, reservedBitFields : 29;
  void* outputBitstream;
  uint32_t* sliceOffsets;
  uint32_t frameIdx; ///< The caller's frameIdx of this picture.
  uint32_t hwEncodeStatus, numSlices, bitstreamSizeInBytes;
  uint64_t outputTimeStamp, outputDuration;
  void* bitstreamBufferPtr; ///< In memory of the host.
  NV_ENC_PIC_TYPE pictureType;
  NV_ENC_PIC_STRUCT pictureStruct;
  uint32_t frameAvgQP, frameSatd, ltrFrameIdx, ltrFrameBitmap, temporalId, intraMBCount, interMBCount;
  int32_t averageMVX, averageMVY;
  uint32_t alphaLayerSizeInBytes, outputStatsPtrSize;
  void* outputStatsPtr;
  uint32_t frameIdxDisplay, reserved1[220];
  void* reserved2[63];
  uint32_t reservedInternal[8];
};

struct NV_ENC_LOOKAHEAD_PIC_PARAMS {
  uint32_t version;
  NV_ENC_INPUT_PTR inputBuffer;
  NV_ENC_PIC_TYPE pictureType;
  uint32_t reserved[64];
  void* reserved1[64];
};

struct NV_ENC_RESTORE_ENCODER_STATE_PARAMS {
  uint32_t version, bufferIdx;
  NV_ENC_STATE_RESTORE_TYPE state;
  NV_ENC_OUTPUT_PTR outputBitstream;
  void* completionEvent;
  uint32_t reserved1[64];
  void* reserved2[64];
};

} // namespace lanner::nvenc
