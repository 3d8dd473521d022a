#pragma once
// The NVENC API (libnvidia-encode.so.1, part of NVIDIA's driver), version 12.1: driver 530 and newer. Own
// declarations of the library's ABI with the names of NVIDIA's nvEncodeAPI.h, so that a build does not depend
// on the installed nv-codec-headers (Debian 12 has 11.1, which has no AV1). A driver accepts every API
// version up to its own; each structure carries its version. tests/fake_libraries/nvenc_api_test.cpp compares
// sizes, offsets and values with NVIDIA's header where it is installed. Not declared, because a session on a
// CUDA context does not need it: motion estimation only mode, DirectX, OpenGL, nvEncGetEncodeStats. Not
// in 12.1: the ultra high quality tuning (12.2), NV16, P210 and 10-bit H.264 (13.0).

#include <cstring>
#include <type_traits>

#include "video/nvenc/nvenc_picture.h"

namespace lanner::nvenc {

/// The version that the declarations are of, as nvEncOpenEncodeSessionEx takes it.
inline constexpr uint32_t api_major = 12, api_minor = 1, api_version = api_major | api_minor << 24;

/// The same in the encoding of NvEncodeAPIGetMaxSupportedVersion: a driver that reports less is too old.
inline constexpr uint32_t needed_version = api_major << 4 | api_minor;

/// Of gopLength and idrPeriod: no key picture but the first and those asked for.
inline constexpr uint32_t infinite_gop_length = 0xffffffff;

/// Parameter sets take at most this many bytes.
inline constexpr uint32_t max_sequence_header_bytes = 512;

constexpr uint32_t struct_version(uint32_t revision, bool extended = false) {
  return api_version | revision << 16 | 7u << 28 | (extended ? 1u << 31 : 0);
}

/// The functions, filled in by NvEncodeAPICreateInstance. Each takes the session that
/// nvEncOpenEncodeSessionEx made; void pointers are structures for motion estimation alone and statistics,
/// which are not declared here.
struct NV_ENCODE_API_FUNCTION_LIST {
  uint32_t version;
  uint32_t reserved;
  NVENCSTATUS (*nvEncOpenEncodeSession)(void* device, uint32_t deviceType, void** encoder);
  NVENCSTATUS (*nvEncGetEncodeGUIDCount)(void* encoder, uint32_t* encodeGUIDCount);
  NVENCSTATUS(*nvEncGetEncodeProfileGUIDCount)
  (void* encoder, GUID encodeGUID, uint32_t* encodeProfileGUIDCount);
  NVENCSTATUS(*nvEncGetEncodeProfileGUIDs)
  (void* encoder, GUID encodeGUID, GUID* profileGUIDs, uint32_t guidArraySize, uint32_t* GUIDCount);
  NVENCSTATUS (*nvEncGetEncodeGUIDs)(void* encoder, GUID* GUIDs, uint32_t guidArraySize, uint32_t* GUIDCount);
  NVENCSTATUS (*nvEncGetInputFormatCount)(void* encoder, GUID encodeGUID, uint32_t* inputFmtCount);
  NVENCSTATUS(*nvEncGetInputFormats)
  (void* encoder, GUID encodeGUID, NV_ENC_BUFFER_FORMAT* inputFmts, uint32_t inputFmtArraySize,
   uint32_t* inputFmtCount);
  NVENCSTATUS(*nvEncGetEncodeCaps)
  (void* encoder, GUID encodeGUID, NV_ENC_CAPS_PARAM* capsParam, int* capsVal);
  NVENCSTATUS (*nvEncGetEncodePresetCount)(void* encoder, GUID encodeGUID, uint32_t* encodePresetGUIDCount);
  NVENCSTATUS(*nvEncGetEncodePresetGUIDs)
  (void* encoder, GUID encodeGUID, GUID* presetGUIDs, uint32_t guidArraySize,
   uint32_t* encodePresetGUIDCount);
  NVENCSTATUS(*nvEncGetEncodePresetConfig)
  (void* encoder, GUID encodeGUID, GUID presetGUID, NV_ENC_PRESET_CONFIG* presetConfig);
  NVENCSTATUS (*nvEncInitializeEncoder)(void* encoder, NV_ENC_INITIALIZE_PARAMS* createEncodeParams);
  NVENCSTATUS (*nvEncCreateInputBuffer)(void* encoder, NV_ENC_CREATE_INPUT_BUFFER* createInputBufferParams);
  NVENCSTATUS (*nvEncDestroyInputBuffer)(void* encoder, NV_ENC_INPUT_PTR inputBuffer);
  NVENCSTATUS(*nvEncCreateBitstreamBuffer)
  (void* encoder, NV_ENC_CREATE_BITSTREAM_BUFFER* createBitstreamBufferParams);
  NVENCSTATUS (*nvEncDestroyBitstreamBuffer)(void* encoder, NV_ENC_OUTPUT_PTR bitstreamBuffer);
  NVENCSTATUS (*nvEncEncodePicture)(void* encoder, NV_ENC_PIC_PARAMS* encodePicParams);
  NVENCSTATUS (*nvEncLockBitstream)(void* encoder, NV_ENC_LOCK_BITSTREAM* lockBitstreamBufferParams);
  NVENCSTATUS (*nvEncUnlockBitstream)(void* encoder, NV_ENC_OUTPUT_PTR bitstreamBuffer);
  NVENCSTATUS (*nvEncLockInputBuffer)(void* encoder, NV_ENC_LOCK_INPUT_BUFFER* lockInputBufferParams);
  NVENCSTATUS (*nvEncUnlockInputBuffer)(void* encoder, NV_ENC_INPUT_PTR inputBuffer);
  NVENCSTATUS (*nvEncGetEncodeStats)(void* encoder, void* encodeStats);
  NVENCSTATUS (*nvEncGetSequenceParams)(void* encoder, NV_ENC_SEQUENCE_PARAM_PAYLOAD* sequenceParamPayload);
  NVENCSTATUS (*nvEncRegisterAsyncEvent)(void* encoder, NV_ENC_EVENT_PARAMS* eventParams);
  NVENCSTATUS (*nvEncUnregisterAsyncEvent)(void* encoder, NV_ENC_EVENT_PARAMS* eventParams);
  NVENCSTATUS (*nvEncMapInputResource)(void* encoder, NV_ENC_MAP_INPUT_RESOURCE* mapInputResParams);
  NVENCSTATUS (*nvEncUnmapInputResource)(void* encoder, NV_ENC_INPUT_PTR mappedInputBuffer);
  NVENCSTATUS (*nvEncDestroyEncoder)(void* encoder);
  NVENCSTATUS (*nvEncInvalidateRefFrames)(void* encoder, uint64_t invalidRefFrameTimeStamp);
  NVENCSTATUS(*nvEncOpenEncodeSessionEx)
  (NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS* openSessionExParams, void** encoder);
  NVENCSTATUS (*nvEncRegisterResource)(void* encoder, NV_ENC_REGISTER_RESOURCE* registerResParams);
  NVENCSTATUS (*nvEncUnregisterResource)(void* encoder, NV_ENC_REGISTERED_PTR registeredRes);
  NVENCSTATUS (*nvEncReconfigureEncoder)(void* encoder, NV_ENC_RECONFIGURE_PARAMS* reInitEncodeParams);
  void* reserved1;
  NVENCSTATUS (*nvEncCreateMVBuffer)(void* encoder, void* createMVBufferParams);
  NVENCSTATUS (*nvEncDestroyMVBuffer)(void* encoder, NV_ENC_OUTPUT_PTR mvBuffer);
  NVENCSTATUS (*nvEncRunMotionEstimationOnly)(void* encoder, void* meOnlyParams);
  const char* (*nvEncGetLastErrorString)(void* encoder);
  NVENCSTATUS(*nvEncSetIOCudaStreams)
  (void* encoder, NV_ENC_CUSTREAM_PTR inputStream, NV_ENC_CUSTREAM_PTR outputStream);
  NVENCSTATUS(*nvEncGetEncodePresetConfigEx)
  (void* encoder, GUID encodeGUID, GUID presetGUID, NV_ENC_TUNING_INFO tuningInfo,
   NV_ENC_PRESET_CONFIG* presetConfig);
  NVENCSTATUS(*nvEncGetSequenceParamEx)
  (void* encoder, NV_ENC_INITIALIZE_PARAMS* encInitParams,
   NV_ENC_SEQUENCE_PARAM_PAYLOAD* sequenceParamPayload);
  NVENCSTATUS (*nvEncRestoreEncoderState)(void* encoder, NV_ENC_RESTORE_ENCODER_STATE_PARAMS* restoreState);
  NVENCSTATUS (*nvEncLookaheadPicture)(void* encoder, NV_ENC_LOOKAHEAD_PIC_PARAMS* lookaheadParams);
  void* reserved2[275];
};

/// The library's two symbols.
using GetMaxSupportedVersion = NVENCSTATUS (*)(uint32_t* version);
using CreateInstance = NVENCSTATUS (*)(NV_ENCODE_API_FUNCTION_LIST* functions);

/// What the member `version` of a structure has to be.
template<typename T>
inline constexpr uint32_t version_of = 0;
template<>
inline constexpr uint32_t version_of<NV_ENC_RC_PARAMS> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_CONFIG> = struct_version(8, true);
template<>
inline constexpr uint32_t version_of<NV_ENC_INITIALIZE_PARAMS> = struct_version(6, true);
template<>
inline constexpr uint32_t version_of<NV_ENC_RECONFIGURE_PARAMS> = struct_version(1, true);
template<>
inline constexpr uint32_t version_of<NV_ENC_PRESET_CONFIG> = struct_version(4, true);
template<>
inline constexpr uint32_t version_of<NV_ENC_CAPS_PARAM> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_SEQUENCE_PARAM_PAYLOAD> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_EVENT_PARAMS> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_CREATE_INPUT_BUFFER> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_LOCK_INPUT_BUFFER> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_CREATE_BITSTREAM_BUFFER> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_REGISTER_RESOURCE> = struct_version(4);
template<>
inline constexpr uint32_t version_of<NV_ENC_MAP_INPUT_RESOURCE> = struct_version(4);
template<>
inline constexpr uint32_t version_of<NV_ENC_PIC_PARAMS> = struct_version(6, true);
template<>
inline constexpr uint32_t version_of<NV_ENC_LOCK_BITSTREAM> = struct_version(1, true);
template<>
inline constexpr uint32_t version_of<NV_ENC_LOOKAHEAD_PIC_PARAMS> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENC_RESTORE_ENCODER_STATE_PARAMS> = struct_version(1);
template<>
inline constexpr uint32_t version_of<NV_ENCODE_API_FUNCTION_LIST> = struct_version(2);

/// A structure of zeros with its version, and that of what lies in it. Initialisation by `{}` would not do:
/// of a union it clears the first member alone.
template<typename T>
T versioned() {
  static_assert(version_of<T> != 0);
  T made;
  std::memset(&made, 0, sizeof made);
  made.version = version_of<T>;
  if constexpr (std::is_same_v<T, NV_ENC_CONFIG>) made.rcParams.version = version_of<NV_ENC_RC_PARAMS>;
  if constexpr (std::is_same_v<T, NV_ENC_PRESET_CONFIG>) made.presetCfg = versioned<NV_ENC_CONFIG>();
  if constexpr (std::is_same_v<T, NV_ENC_RECONFIGURE_PARAMS>)
    made.reInitEncodeParams = versioned<NV_ENC_INITIALIZE_PARAMS>();
  return made;
}

} // namespace lanner::nvenc
