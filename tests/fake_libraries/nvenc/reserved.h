#pragma once
// Members that have to be 0.

#include <algorithm>
#include <iterator>

#include "video/nvenc/nvenc_api.h"

namespace lanner::fake_nvenc {

template<typename... Arrays>
bool clear(const Arrays&... arrays) {
  return (std::all_of(std::begin(arrays), std::end(arrays), [](auto value) { return value == 0; }) && ...);
}

inline bool reserved_clear(const nvenc::NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS& s) {
  return !s.reserved && clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_CAPS_PARAM& s) {
  return clear(s.reserved);
}
inline bool reserved_clear(const nvenc::NV_ENC_RC_PARAMS& s) {
  return !s.reservedBitField1 && !s.reservedBitFields && !s.reserved2 && clear(s.reserved);
}
inline bool reserved_clear(const nvenc::NV_ENC_CONFIG_H264& s) {
  return !s.reservedBitFields && clear(s.h264VUIParameters.reserved, s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_CONFIG_HEVC& s) {
  return !s.reserved && clear(s.hevcVUIParameters.reserved, s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_CONFIG_AV1& s) {
  return !s.reserved && clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_CONFIG& s) {
  return reserved_clear(s.rcParams) && clear(s.reserved, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_INITIALIZE_PARAMS& s) {
  return !s.reservedBitFields && !s.privDataSize && !s.privData && clear(s.reserved, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_RECONFIGURE_PARAMS& s) {
  return !s.reserved;
}
inline bool reserved_clear(const nvenc::NV_ENC_PRESET_CONFIG& s) {
  return clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_SEQUENCE_PARAM_PAYLOAD& s) {
  return clear(s.reserved, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_EVENT_PARAMS& s) {
  return !s.reserved && clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_CREATE_INPUT_BUFFER& s) {
  return !s.reserved && clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_LOCK_INPUT_BUFFER& s) {
  return !s.reservedBitFields && clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_CREATE_BITSTREAM_BUFFER& s) {
  return !s.reserved && clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_REGISTER_RESOURCE& s) {
  return clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_MAP_INPUT_RESOURCE& s) {
  return clear(s.reserved1, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_PIC_PARAMS& s) {
  return !s.reservedBitFields && clear(s.reserved1, s.reserved2, s.reserved3, s.reserved4);
}
inline bool reserved_clear(const nvenc::NV_ENC_PIC_PARAMS_H264& s) {
  return !s.reserved3 && !s.reservedBitFields && !s.ltrUsageMode && clear(s.reserved, s.reserved2);
}
inline bool reserved_clear(const nvenc::NV_ENC_PIC_PARAMS_HEVC& s) {
  return !s.reserved && !s.reservedBitFields && !s.ltrUsageMode && clear(s.reserved2, s.reserved3);
}
inline bool reserved_clear(const nvenc::NV_ENC_PIC_PARAMS_AV1& s) {
  return !s.reserved && !s.reservedBitFields && clear(s.reserved2, s.reserved3);
}
inline bool reserved_clear(const nvenc::NV_ENC_LOCK_BITSTREAM& s) {
  return !s.reservedBitFields && clear(s.reserved1, s.reserved2, s.reservedInternal);
}
inline bool reserved_clear(const nvenc::NV_ENC_LOOKAHEAD_PIC_PARAMS& s) {
  return clear(s.reserved, s.reserved1);
}
inline bool reserved_clear(const nvenc::NV_ENC_RESTORE_ENCODER_STATE_PARAMS& s) {
  return clear(s.reserved1, s.reserved2);
}

} // namespace lanner::fake_nvenc
