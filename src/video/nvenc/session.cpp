#include "video/nvenc/session.h"

#include <algorithm>

#include "base/check.h"

namespace lanner::nvenc {

std::string_view name_of(Codec codec) noexcept {
  constexpr std::string_view names[] = {"h264", "hevc", "av1"};
  return names[static_cast<std::size_t>(codec)];
}

const GUID& guid_of(Codec codec) noexcept {
  static constexpr GUID guids[] = {NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID, NV_ENC_CODEC_AV1_GUID};
  return guids[static_cast<std::size_t>(codec)];
}

namespace {

const GUID& preset_guid(int number) {
  static constexpr GUID guids[] = {NV_ENC_PRESET_P1_GUID, NV_ENC_PRESET_P2_GUID, NV_ENC_PRESET_P3_GUID,
                                   NV_ENC_PRESET_P4_GUID, NV_ENC_PRESET_P5_GUID, NV_ENC_PRESET_P6_GUID,
                                   NV_ENC_PRESET_P7_GUID};
  return guids[number - 1];
}

ErrorCode code_of(NVENCSTATUS status) {
  switch (status) {
  case NV_ENC_ERR_OUT_OF_MEMORY:
    return ErrorCode::out_of_memory;
  case NV_ENC_ERR_UNSUPPORTED_PARAM:
  case NV_ENC_ERR_UNIMPLEMENTED:
    return ErrorCode::unsupported;
  default:
    return ErrorCode::device;
  }
}

} // namespace

Session::Session(const cuda::Gpu& gpu, cuda::ContextHandle context)
    : api_(nvenc::api()), gpu_(gpu), context_(context ? context : gpu.context()) {
  auto parameters = versioned<NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS>();
  parameters.deviceType = NV_ENC_DEVICE_TYPE_CUDA;
  parameters.device = context_;
  parameters.apiVersion = api_version;
  const NVENCSTATUS status = api_.nvEncOpenEncodeSessionEx(&parameters, &handle_);
  if (status == NV_ENC_SUCCESS) return;
  if (handle_) static_cast<void>(api_.nvEncDestroyEncoder(handle_)); // A session may be left all the same.
  check_opened(status);
}

Session::~Session() {
  try {
    const cuda::Current current(context_);
    static_cast<void>(api_.nvEncDestroyEncoder(handle_));
  } catch (const Error&) { // A session holds its context itself.
    static_cast<void>(api_.nvEncDestroyEncoder(handle_));
  }
}

void Session::check_opened(NVENCSTATUS status) const {
  const std::string where = fmt::format("nvenc: {}: {}", gpu_.device().to_string(), gpu_.name());
  lanner::check(status != NV_ENC_ERR_NO_ENCODE_DEVICE && status != NV_ENC_ERR_UNSUPPORTED_DEVICE,
                ErrorCode::unsupported,
                "{} has no NVENC ({}): H100, H200, A100 and others for data centres have none; {}", where,
                name_of(status), software_remedy);
  lanner::check(status != NV_ENC_ERR_OUT_OF_MEMORY && status != NV_ENC_ERR_INCOMPATIBLE_CLIENT_KEY,
                ErrorCode::out_of_memory,
                "{}: the driver opens no more sessions of NVENC ({}): GPUs for desktops encode a few streams "
                "at a time; end another encoder, or {}",
                where, name_of(status), software_remedy);
  fail(ErrorCode::device, "{}: nvEncOpenEncodeSessionEx: {}; {}", where, name_of(status), software_remedy);
}

void Session::check(NVENCSTATUS status, const char* call) const {
  if (status == NV_ENC_SUCCESS) return;
  const char* words = handle_ ? api_.nvEncGetLastErrorString(handle_) : nullptr;
  const bool told = words && *words;
  fail(code_of(status), "nvenc: {}: {}: {}{}{}", gpu_.device().to_string(), call, name_of(status),
       told ? ": " : "", told ? words : "");
}

bool Session::has(Codec codec) const {
  uint32_t count = 0;
  call(&Api::nvEncGetEncodeGUIDCount, "nvEncGetEncodeGUIDCount", &count);
  std::vector<GUID> guids(count);
  if (count > 0) call(&Api::nvEncGetEncodeGUIDs, "nvEncGetEncodeGUIDs", guids.data(), count, &count);
  guids.resize(std::min<std::size_t>(count, guids.size()));
  return std::ranges::find(guids, guid_of(codec)) != guids.end();
}

bool Session::has_profile(Codec codec, const GUID& profile) const {
  uint32_t count = 0;
  call(&Api::nvEncGetEncodeProfileGUIDCount, "nvEncGetEncodeProfileGUIDCount", guid_of(codec), &count);
  std::vector<GUID> guids(count);
  if (count > 0)
    call(&Api::nvEncGetEncodeProfileGUIDs, "nvEncGetEncodeProfileGUIDs", guid_of(codec), guids.data(), count,
         &count);
  guids.resize(std::min<std::size_t>(count, guids.size()));
  return std::ranges::find(guids, profile) != guids.end();
}

int Session::capability(Codec codec, NV_ENC_CAPS which) const {
  auto asked = versioned<NV_ENC_CAPS_PARAM>();
  asked.capsToQuery = which;
  int value = 0;
  call(&Api::nvEncGetEncodeCaps, "nvEncGetEncodeCaps", guid_of(codec), &asked, &value);
  return value;
}

NV_ENC_CONFIG Session::preset(Codec codec, int number, NV_ENC_TUNING_INFO tuning) const {
  auto found = versioned<NV_ENC_PRESET_CONFIG>();
  call(&Api::nvEncGetEncodePresetConfigEx, "nvEncGetEncodePresetConfigEx", guid_of(codec),
       preset_guid(number), tuning, &found);
  return found.presetCfg;
}

std::vector<std::byte> Session::headers() const {
  std::vector<std::byte> bytes(max_sequence_header_bytes);
  auto payload = versioned<NV_ENC_SEQUENCE_PARAM_PAYLOAD>();
  uint32_t size = 0;
  payload.inBufferSize = max_sequence_header_bytes;
  payload.spsppsBuffer = bytes.data();
  payload.outSPSPPSPayloadSize = &size;
  call(&Api::nvEncGetSequenceParams, "nvEncGetSequenceParams", &payload);
  lanner::check(size <= bytes.size(), ErrorCode::device,
                "nvenc: {}: nvEncGetSequenceParams: {} bytes in a buffer of {}", gpu_.device().to_string(),
                size, bytes.size());
  bytes.resize(size);
  return bytes;
}

} // namespace lanner::nvenc
