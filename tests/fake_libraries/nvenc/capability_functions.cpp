#include <algorithm>

#include "fake_libraries/nvenc/functions.h"
#include "fake_libraries/nvenc/reserved.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

template<typename T>
Status give(Call& call, const std::vector<T>& all, T* to, std::uint32_t size, std::uint32_t* count) {
  if (size == 0)
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "the array has no elements, there are {}", all.size());
  *count = static_cast<std::uint32_t>(std::min<std::size_t>(size, all.size()));
  std::copy_n(all.begin(), *count, to);
  return NV_ENC_SUCCESS;
}

Status with_codec(Call& call, const GUID& guid, auto then) {
  const auto codec = codec_of(guid);
  if (!codec) return call.refuse(NV_ENC_ERR_UNSUPPORTED_PARAM, "encodeGUID is none of the device's codecs");
  return then(*codec);
}

Status count_of(std::size_t all, std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(all);
  return NV_ENC_SUCCESS;
}

Status give_config(Call& call, const GUID& codec, const GUID& preset, NV_ENC_TUNING_INFO tuning,
                   NV_ENC_PRESET_CONFIG* to) {
  return with_codec(call, codec, [&](Codec known) {
    const auto number = preset_number(preset);
    if (!number) return call.refuse(NV_ENC_ERR_UNSUPPORTED_PARAM, "presetGUID is none of P1 to P7");
    if (to->presetCfg.version != version_of<NV_ENC_CONFIG>)
      return call.refuse(NV_ENC_ERR_INVALID_VERSION, "presetCfg's version is {:#x}, not {:#x}",
                         to->presetCfg.version, version_of<NV_ENC_CONFIG>);
    if (tuning == NV_ENC_TUNING_INFO_LOSSLESS && !capability(known, NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE))
      return call.refuse(NV_ENC_ERR_UNSUPPORTED_PARAM,
                         "tuningInfo is lossless without NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE");
    to->presetCfg = preset_config(known, *number, tuning);
    return NV_ENC_SUCCESS;
  });
}

} // namespace

Status get_codec_count(Call&, std::uint32_t* count) {
  return count_of(offered_codecs().size(), count);
}

Status get_codecs(Call& call, GUID* guids, std::uint32_t size, std::uint32_t* count) {
  return give(call, offered_codecs(), guids, size, count);
}

Status get_profile_count(Call& call, GUID codec, std::uint32_t* count) {
  return with_codec(call, codec, [&](Codec known) { return count_of(profiles_of(known).size(), count); });
}

Status get_profiles(Call& call, GUID codec, GUID* guids, std::uint32_t size, std::uint32_t* count) {
  return with_codec(call, codec,
                    [&](Codec known) { return give(call, profiles_of(known), guids, size, count); });
}

Status get_preset_count(Call& call, GUID codec, std::uint32_t* count) {
  return with_codec(call, codec, [&](Codec) { return count_of(presets().size(), count); });
}

Status get_presets(Call& call, GUID codec, GUID* guids, std::uint32_t size, std::uint32_t* count) {
  return with_codec(call, codec, [&](Codec) { return give(call, presets(), guids, size, count); });
}

Status get_format_count(Call& call, GUID codec, std::uint32_t* count) {
  return with_codec(call, codec, [&](Codec known) { return count_of(formats_of(known).size(), count); });
}

Status get_formats(Call& call, GUID codec, NV_ENC_BUFFER_FORMAT* formats, std::uint32_t size,
                   std::uint32_t* count) {
  return with_codec(call, codec,
                    [&](Codec known) { return give(call, formats_of(known), formats, size, count); });
}

Status get_capability(Call& call, GUID codec, NV_ENC_CAPS_PARAM* asked, int* value) {
  return with_codec(call, codec, [&](Codec known) {
    if (!reserved_clear(*asked))
      return call.refuse(NV_ENC_ERR_INVALID_PARAM, "a reserved member of NV_ENC_CAPS_PARAM is not 0");
    if (asked->capsToQuery >= NV_ENC_CAPS_EXPOSED_COUNT)
      return call.refuse(NV_ENC_ERR_INVALID_PARAM, "capsToQuery is {}", unsigned{asked->capsToQuery});
    *value = capability(known, asked->capsToQuery);
    return NV_ENC_SUCCESS;
  });
}

Status get_preset_config(Call& call, GUID codec, GUID preset, NV_ENC_PRESET_CONFIG* config) {
  if (codec == NV_ENC_CODEC_AV1_GUID)
    return call.refuse(NV_ENC_ERR_UNSUPPORTED_PARAM, "AV1 needs nvEncGetEncodePresetConfigEx");
  return give_config(call, codec, preset, NV_ENC_TUNING_INFO_HIGH_QUALITY, config);
}

Status get_preset_config_ex(Call& call, GUID codec, GUID preset, NV_ENC_TUNING_INFO tuning,
                            NV_ENC_PRESET_CONFIG* config) {
  if (tuning == NV_ENC_TUNING_INFO_UNDEFINED || tuning >= NV_ENC_TUNING_INFO_COUNT)
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "tuningInfo is {}", unsigned{tuning});
  return give_config(call, codec, preset, tuning, config);
}

} // namespace lanner::fake_nvenc
