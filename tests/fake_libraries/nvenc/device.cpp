#include "fake_libraries/nvenc/device.h"

#include "fake_libraries/nvenc/session.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

World& world() {
  static auto* only = new World;
  return *only;
}

namespace {

const std::pair<GUID, Codec> codecs[] = {{NV_ENC_CODEC_H264_GUID, Codec::h264},
                                         {NV_ENC_CODEC_HEVC_GUID, Codec::hevc},
                                         {NV_ENC_CODEC_AV1_GUID, Codec::av1}};

int common_capability(NV_ENC_CAPS which) {
  switch (which) {
  case NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES:
    return NV_ENC_PARAMS_RC_VBR | NV_ENC_PARAMS_RC_CBR;
  case NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE:
    return 2;
  case NV_ENC_CAPS_DYNAMIC_QUERY_ENCODER_CAPACITY:
    return 100;
  case NV_ENC_CAPS_MB_PER_SEC_MAX:
    return 983040;
  case NV_ENC_CAPS_MB_NUM_MAX:
    return 65536;
  case NV_ENC_CAPS_NUM_ENCODER_ENGINES:
  case NV_ENC_CAPS_SUPPORT_QPELMV:
  case NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE:
  case NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE:
  case NV_ENC_CAPS_SUPPORT_DYN_FORCE_CONSTQP:
  case NV_ENC_CAPS_SUPPORT_INTRA_REFRESH:
  case NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE:
  case NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE:
  case NV_ENC_CAPS_SUPPORT_REF_PIC_INVALIDATION:
  case NV_ENC_CAPS_SUPPORT_LOOKAHEAD:
  case NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ:
  case NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION:
  case NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES:
    return 1;
  default:
    return 0;
  }
}

int h264_capability(NV_ENC_CAPS which) {
  switch (which) {
  case NV_ENC_CAPS_NUM_MAX_BFRAMES:
  case NV_ENC_CAPS_NUM_MAX_TEMPORAL_LAYERS:
    return 4;
  case NV_ENC_CAPS_NUM_MAX_LTR_FRAMES:
    return 8;
  case NV_ENC_CAPS_WIDTH_MAX:
  case NV_ENC_CAPS_HEIGHT_MAX:
    return 4096;
  case NV_ENC_CAPS_WIDTH_MIN:
    return 145;
  case NV_ENC_CAPS_HEIGHT_MIN:
    return 49;
  case NV_ENC_CAPS_LEVEL_MAX:
    return NV_ENC_LEVEL_H264_62;
  case NV_ENC_CAPS_LEVEL_MIN:
    return NV_ENC_LEVEL_H264_1;
  case NV_ENC_CAPS_SUPPORT_BDIRECT_MODE:
  case NV_ENC_CAPS_SUPPORT_CABAC:
  case NV_ENC_CAPS_SUPPORT_ADAPTIVE_TRANSFORM:
  case NV_ENC_CAPS_SUPPORT_HIERARCHICAL_PFRAMES:
  case NV_ENC_CAPS_SUPPORT_HIERARCHICAL_BFRAMES:
  case NV_ENC_CAPS_SUPPORT_TEMPORAL_SVC:
  case NV_ENC_CAPS_SUPPORT_CONSTRAINED_ENCODING:
  case NV_ENC_CAPS_SUPPORT_YUV444_ENCODE:
  case NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE:
  case NV_ENC_CAPS_SUPPORT_EMPHASIS_LEVEL_MAP:
    return 1;
  default:
    return common_capability(which);
  }
}

int hevc_capability(NV_ENC_CAPS which) {
  switch (which) {
  case NV_ENC_CAPS_NUM_MAX_BFRAMES:
    return 5;
  case NV_ENC_CAPS_NUM_MAX_LTR_FRAMES:
    return 7;
  case NV_ENC_CAPS_WIDTH_MAX:
  case NV_ENC_CAPS_HEIGHT_MAX:
    return 8192;
  case NV_ENC_CAPS_WIDTH_MIN:
    return 129;
  case NV_ENC_CAPS_HEIGHT_MIN:
    return 33;
  case NV_ENC_CAPS_LEVEL_MAX:
    return NV_ENC_LEVEL_HEVC_62;
  case NV_ENC_CAPS_LEVEL_MIN:
    return NV_ENC_LEVEL_HEVC_1;
  case NV_ENC_CAPS_SUPPORT_SAO:
  case NV_ENC_CAPS_SUPPORT_CONSTRAINED_ENCODING:
  case NV_ENC_CAPS_SUPPORT_YUV444_ENCODE:
  case NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE:
  case NV_ENC_CAPS_SUPPORT_10BIT_ENCODE:
    return 1;
  default:
    return common_capability(which);
  }
}

int av1_capability(NV_ENC_CAPS which) {
  switch (which) {
  case NV_ENC_CAPS_NUM_MAX_BFRAMES:
    return 7;
  case NV_ENC_CAPS_WIDTH_MAX:
  case NV_ENC_CAPS_HEIGHT_MAX:
    return 8192;
  case NV_ENC_CAPS_WIDTH_MIN:
    return 192;
  case NV_ENC_CAPS_HEIGHT_MIN:
    return 128;
  case NV_ENC_CAPS_LEVEL_MAX:
    return NV_ENC_LEVEL_AV1_73;
  case NV_ENC_CAPS_LEVEL_MIN:
    return NV_ENC_LEVEL_AV1_2;
  case NV_ENC_CAPS_SUPPORT_10BIT_ENCODE:
    return 1;
  default:
    return common_capability(which);
  }
}

} // namespace

std::optional<Codec> codec_of(const GUID& guid) {
  for (const auto& [known, codec] : codecs)
    if (known == guid && world().device.offered[static_cast<std::size_t>(codec)]) return codec;
  return {};
}

std::vector<GUID> offered_codecs() {
  std::vector<GUID> guids;
  for (const auto& [guid, codec] : codecs)
    if (codec_of(guid)) guids.push_back(guid);
  return guids;
}

std::vector<GUID> profiles_of(Codec codec) {
  switch (codec) {
  case Codec::h264:
    return {NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID,
            NV_ENC_H264_PROFILE_BASELINE_GUID,
            NV_ENC_H264_PROFILE_MAIN_GUID,
            NV_ENC_H264_PROFILE_HIGH_GUID,
            NV_ENC_H264_PROFILE_HIGH_444_GUID,
            NV_ENC_H264_PROFILE_PROGRESSIVE_HIGH_GUID,
            NV_ENC_H264_PROFILE_CONSTRAINED_HIGH_GUID};
  case Codec::hevc:
    return {NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID, NV_ENC_HEVC_PROFILE_MAIN_GUID,
            NV_ENC_HEVC_PROFILE_MAIN10_GUID, NV_ENC_HEVC_PROFILE_FREXT_GUID};
  case Codec::av1:
    return {NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID, NV_ENC_AV1_PROFILE_MAIN_GUID};
  }
  return {};
}

std::vector<GUID> presets() {
  return {NV_ENC_PRESET_P1_GUID, NV_ENC_PRESET_P2_GUID, NV_ENC_PRESET_P3_GUID, NV_ENC_PRESET_P4_GUID,
          NV_ENC_PRESET_P5_GUID, NV_ENC_PRESET_P6_GUID, NV_ENC_PRESET_P7_GUID};
}

std::optional<int> preset_number(const GUID& guid) {
  const std::vector<GUID> all = presets();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] == guid) return static_cast<int>(i);
  return {};
}

std::vector<NV_ENC_BUFFER_FORMAT> formats_of(Codec codec) {
  std::vector<NV_ENC_BUFFER_FORMAT> formats{NV_ENC_BUFFER_FORMAT_NV12, NV_ENC_BUFFER_FORMAT_YV12,
                                            NV_ENC_BUFFER_FORMAT_IYUV, NV_ENC_BUFFER_FORMAT_ARGB,
                                            NV_ENC_BUFFER_FORMAT_ABGR, NV_ENC_BUFFER_FORMAT_AYUV};
  const bool full = capability(codec, NV_ENC_CAPS_SUPPORT_YUV444_ENCODE) != 0;
  if (full) formats.push_back(NV_ENC_BUFFER_FORMAT_YUV444);
  if (!capability(codec, NV_ENC_CAPS_SUPPORT_10BIT_ENCODE)) return formats;
  for (const auto format :
       {NV_ENC_BUFFER_FORMAT_YUV420_10BIT, NV_ENC_BUFFER_FORMAT_ARGB10, NV_ENC_BUFFER_FORMAT_ABGR10})
    formats.push_back(format);
  if (full) formats.push_back(NV_ENC_BUFFER_FORMAT_YUV444_10BIT);
  return formats;
}

int capability(Codec codec, NV_ENC_CAPS which) {
  const auto& set = world().device.set;
  if (const auto found = set.find({codec, which}); found != set.end()) return found->second;
  switch (codec) {
  case Codec::h264:
    return h264_capability(which);
  case Codec::hevc:
    return hevc_capability(which);
  case Codec::av1:
    return av1_capability(which);
  }
  return 0;
}

const char* name_of(NVENCSTATUS status) {
  static const char* const names[] = {
      "NV_ENC_SUCCESS",
      "NV_ENC_ERR_NO_ENCODE_DEVICE",
      "NV_ENC_ERR_UNSUPPORTED_DEVICE",
      "NV_ENC_ERR_INVALID_ENCODERDEVICE",
      "NV_ENC_ERR_INVALID_DEVICE",
      "NV_ENC_ERR_DEVICE_NOT_EXIST",
      "NV_ENC_ERR_INVALID_PTR",
      "NV_ENC_ERR_INVALID_EVENT",
      "NV_ENC_ERR_INVALID_PARAM",
      "NV_ENC_ERR_INVALID_CALL",
      "NV_ENC_ERR_OUT_OF_MEMORY",
      "NV_ENC_ERR_ENCODER_NOT_INITIALIZED",
      "NV_ENC_ERR_UNSUPPORTED_PARAM",
      "NV_ENC_ERR_LOCK_BUSY",
      "NV_ENC_ERR_NOT_ENOUGH_BUFFER",
      "NV_ENC_ERR_INVALID_VERSION",
      "NV_ENC_ERR_MAP_FAILED",
      "NV_ENC_ERR_NEED_MORE_INPUT",
      "NV_ENC_ERR_ENCODER_BUSY",
      "NV_ENC_ERR_EVENT_NOT_REGISTERD",
      "NV_ENC_ERR_GENERIC",
      "NV_ENC_ERR_INCOMPATIBLE_CLIENT_KEY",
      "NV_ENC_ERR_UNIMPLEMENTED",
      "NV_ENC_ERR_RESOURCE_REGISTER_FAILED",
      "NV_ENC_ERR_RESOURCE_NOT_REGISTERED",
      "NV_ENC_ERR_RESOURCE_NOT_MAPPED",
      "NV_ENC_ERR_NEED_MORE_OUTPUT",
  };
  return status < std::size(names) ? names[status] : "an unknown status";
}

} // namespace lanner::fake_nvenc
