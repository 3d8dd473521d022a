#include "fake_libraries/fake_nvenc.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "fake_libraries/nvenc/functions.h"

namespace lanner::fake_nvenc {
namespace {

using namespace nvenc;

/// A function's name as a template's argument.
template<std::size_t size>
struct Name {
  char text[size]{};
  constexpr Name(const char (&name)[size]) { std::copy_n(name, size, text); }
};

enum class Kind { any_time, initialised, gives_back };

template<typename T>
Status check_argument(Call& call, T argument) {
  if constexpr (std::is_pointer_v<T>) {
    if (!argument) return call.refuse(NV_ENC_ERR_INVALID_PTR, "a pointer is null");
    using Pointee = std::remove_pointer_t<T>;
    if constexpr (!std::is_void_v<Pointee>)
      if constexpr (version_of<Pointee> != 0)
        if (argument->version != version_of<Pointee>)
          return call.refuse(NV_ENC_ERR_INVALID_VERSION, "the version is {:#x}, not {:#x}", argument->version,
                             version_of<Pointee>);
  }
  return NV_ENC_SUCCESS;
}

template<typename... Args>
Status check_arguments(Call& call, Args... arguments) {
  Status status = NV_ENC_SUCCESS;
  static_cast<void>(((status = check_argument(call, arguments), status == NV_ENC_SUCCESS) && ...));
  return status;
}

/// A function of the table around one of functions.h.
template<auto function>
struct Entry;
template<typename... Args, Status (*function)(Call&, Args...)>
struct Entry<function> {
  template<Name name, Kind kind>
  static NVENCSTATUS call(void* encoder, Args... arguments) {
    Call made(name.text);
    if (kind != Kind::gives_back && made.asked_for() != NV_ENC_SUCCESS) return made.asked_for();
    if (const Status status = made.find(encoder); status != NV_ENC_SUCCESS) return status;
    if constexpr (kind == Kind::initialised)
      if (const Status status = made.needs_settings(); status != NV_ENC_SUCCESS) return status;
    if (const Status status = check_arguments(made, arguments...); status != NV_ENC_SUCCESS) return status;
    const Status status = function(made, arguments...);
    return made.asked_for() != NV_ENC_SUCCESS ? made.asked_for() : status;
  }
};

Status open(NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS* parameters, void** encoder) {
  Call call("nvEncOpenEncodeSessionEx");
  if (call.asked_for() != NV_ENC_SUCCESS) return call.asked_for();
  if (const Status status = check_arguments(call, parameters, encoder); status != NV_ENC_SUCCESS)
    return status;
  return open_session(call, parameters, encoder);
}

Status open_old(void*, std::uint32_t, void**) {
  return Call("nvEncOpenEncodeSession")
      .refuse(NV_ENC_ERR_INVALID_CALL, "deprecated: nvEncOpenEncodeSessionEx");
}

const char* last_error(void* encoder) {
  Call call("nvEncGetLastErrorString");
  if (call.find(encoder) != NV_ENC_SUCCESS) return "";
  return call.session().last_error.c_str();
}

/// What sessions of a CUDA context on Linux do not have.
template<Name name>
Status not_here(void*, auto*) {
  return Call(name.text).refuse(NV_ENC_ERR_UNSUPPORTED_PARAM, "not supported for CUDA on Linux");
}
template<Name name>
Status not_offered(void*, auto*) {
  return Call(name.text).refuse(NV_ENC_ERR_UNIMPLEMENTED, "not implemented by this device");
}

#define LANNER_FAKE_ENTRY(kind, name, function)                                                              \
  table.name = Entry<function>::template call<Name(#name), Kind::kind>

void fill_queries(NV_ENCODE_API_FUNCTION_LIST& table) {
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodeGUIDCount, get_codec_count);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodeGUIDs, get_codecs);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodeProfileGUIDCount, get_profile_count);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodeProfileGUIDs, get_profiles);
  LANNER_FAKE_ENTRY(any_time, nvEncGetInputFormatCount, get_format_count);
  LANNER_FAKE_ENTRY(any_time, nvEncGetInputFormats, get_formats);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodeCaps, get_capability);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodePresetCount, get_preset_count);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodePresetGUIDs, get_presets);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodePresetConfig, get_preset_config);
  LANNER_FAKE_ENTRY(any_time, nvEncGetEncodePresetConfigEx, get_preset_config_ex);
  table.nvEncGetLastErrorString = last_error;
}

void fill_session(NV_ENCODE_API_FUNCTION_LIST& table) {
  table.nvEncOpenEncodeSession = open_old;
  table.nvEncOpenEncodeSessionEx = open;
  LANNER_FAKE_ENTRY(any_time, nvEncInitializeEncoder, initialize);
  LANNER_FAKE_ENTRY(initialised, nvEncReconfigureEncoder, reconfigure);
  LANNER_FAKE_ENTRY(initialised, nvEncSetIOCudaStreams, set_streams);
  LANNER_FAKE_ENTRY(initialised, nvEncGetSequenceParams, get_headers);
  LANNER_FAKE_ENTRY(any_time, nvEncGetSequenceParamEx, get_headers_ex);
  LANNER_FAKE_ENTRY(initialised, nvEncInvalidateRefFrames, invalidate_references);
  LANNER_FAKE_ENTRY(gives_back, nvEncDestroyEncoder, destroy_session);
  table.nvEncRegisterAsyncEvent = not_here<"nvEncRegisterAsyncEvent">;
  table.nvEncUnregisterAsyncEvent = not_here<"nvEncUnregisterAsyncEvent">;
  table.nvEncGetEncodeStats = not_here<"nvEncGetEncodeStats">;
  table.nvEncCreateMVBuffer = not_offered<"nvEncCreateMVBuffer">;
  table.nvEncDestroyMVBuffer = not_offered<"nvEncDestroyMVBuffer">;
  table.nvEncRunMotionEstimationOnly = not_offered<"nvEncRunMotionEstimationOnly">;
  table.nvEncRestoreEncoderState = not_offered<"nvEncRestoreEncoderState">;
  table.nvEncLookaheadPicture = not_offered<"nvEncLookaheadPicture">;
}

void fill_buffers(NV_ENCODE_API_FUNCTION_LIST& table) {
  LANNER_FAKE_ENTRY(initialised, nvEncCreateInputBuffer, create_input);
  LANNER_FAKE_ENTRY(gives_back, nvEncDestroyInputBuffer, destroy_input);
  LANNER_FAKE_ENTRY(initialised, nvEncLockInputBuffer, lock_input);
  LANNER_FAKE_ENTRY(gives_back, nvEncUnlockInputBuffer, unlock_input);
  LANNER_FAKE_ENTRY(initialised, nvEncCreateBitstreamBuffer, create_bitstream);
  LANNER_FAKE_ENTRY(gives_back, nvEncDestroyBitstreamBuffer, destroy_bitstream);
  LANNER_FAKE_ENTRY(initialised, nvEncRegisterResource, register_resource);
  LANNER_FAKE_ENTRY(gives_back, nvEncUnregisterResource, unregister_resource);
  LANNER_FAKE_ENTRY(initialised, nvEncMapInputResource, map_resource);
  LANNER_FAKE_ENTRY(gives_back, nvEncUnmapInputResource, unmap_resource);
  LANNER_FAKE_ENTRY(initialised, nvEncEncodePicture, encode);
  LANNER_FAKE_ENTRY(initialised, nvEncLockBitstream, lock_bitstream);
  LANNER_FAKE_ENTRY(gives_back, nvEncUnlockBitstream, unlock_bitstream);
}

template<typename Get>
auto in_world(Get get) {
  const std::lock_guard lock(world().mutex);
  return get(world());
}

template<typename Count>
long over_sessions(Count count) {
  return in_world([&](World& w) {
    long sum = 0;
    for (const auto& [handle, session] : w.sessions) sum += static_cast<long>(count(*session));
    return sum;
  });
}

} // namespace
} // namespace lanner::fake_nvenc

using namespace lanner::fake_nvenc;
using namespace lanner::nvenc;

extern "C" {

NVENCSTATUS NvEncodeAPIGetMaxSupportedVersion(std::uint32_t* version) {
  Call call("NvEncodeAPIGetMaxSupportedVersion");
  if (call.asked_for() != NV_ENC_SUCCESS) return call.asked_for();
  if (!version) return call.refuse(NV_ENC_ERR_INVALID_PTR, "version is null");
  *version = world().device.version;
  return NV_ENC_SUCCESS;
}

NVENCSTATUS NvEncodeAPICreateInstance(NV_ENCODE_API_FUNCTION_LIST* functions) {
  Call call("NvEncodeAPICreateInstance");
  if (call.asked_for() != NV_ENC_SUCCESS) return call.asked_for();
  if (const Status status = check_arguments(call, functions); status != NV_ENC_SUCCESS) return status;
  if (world().device.version < needed_version)
    return call.refuse(NV_ENC_ERR_INVALID_VERSION, "the driver has {}.{}, older than {}.{}",
                       world().device.version >> 4, world().device.version & 15, api_major, api_minor);
  fill_queries(*functions);
  fill_session(*functions);
  fill_buffers(*functions);
  return NV_ENC_SUCCESS;
}

std::size_t fake_nvenc_calls() {
  return in_world([](World& w) { return w.calls; });
}
void fake_nvenc_fail(std::size_t number, int status) {
  fake_nvenc_fail_in("", number, status);
}
void fake_nvenc_fail_in(const char* function, std::size_t number, int status) {
  in_world([&](World& w) {
    std::erase_if(w.failures, [&](const Failure& failure) { return failure.function == function; });
    if (number > 0) w.failures.push_back({function, number, status});
  });
}
const char* fake_nvenc_log() {
  return in_world([](World& w) { return (w.shown_log = w.log).c_str(); });
}
const char* fake_nvenc_misuse() {
  return in_world([](World& w) { return (w.shown_misuse = w.misuse).c_str(); });
}
void fake_nvenc_forget() {
  in_world([](World& w) { w.log.clear(), w.misuse.clear(), w.pictures.clear(); });
}

long fake_nvenc_sessions() {
  return over_sessions([](const Session&) { return 1; });
}
long fake_nvenc_buffers() {
  return over_sessions([](const Session& s) { return s.inputs.size() + s.outputs.size(); });
}
long fake_nvenc_resources() {
  return over_sessions([](const Session& s) { return s.resources.size(); });
}
long fake_nvenc_mapped() {
  return over_sessions([](const Session& s) { return s.mappings.size(); });
}
long fake_nvenc_leaked() {
  return in_world([](World& w) { return w.leaked; });
}
long fake_nvenc_unflushed() {
  return in_world([](World& w) { return w.unflushed; });
}

void fake_nvenc_set_version(std::uint32_t version) {
  in_world([&](World& w) { w.device.version = version; });
}
void fake_nvenc_limit_sessions(std::size_t most) {
  in_world([&](World& w) { w.device.most_sessions = most; });
}
void fake_nvenc_offer_codec(int codec, bool offered) {
  in_world([&](World& w) { w.device.offered.at(static_cast<std::size_t>(codec)) = offered; });
}
void fake_nvenc_set_capability(int codec, int capability, int value) {
  in_world([&](World& w) {
    w.device.set[{static_cast<Codec>(codec), static_cast<NV_ENC_CAPS>(capability)}] = value;
  });
}
void fake_nvenc_reset_device() {
  in_world([](World& w) { w.device = {}, w.failures.clear(); });
}

const NV_ENC_INITIALIZE_PARAMS* fake_nvenc_configuration() {
  return in_world([](World& w) { return w.configuration ? &w.configuration->init : nullptr; });
}
std::size_t fake_nvenc_pictures() {
  return in_world([](World& w) { return w.pictures.size(); });
}
const NV_ENC_PIC_PARAMS* fake_nvenc_picture(std::size_t number) {
  return in_world([&](World& w) { return &w.pictures.at(number); });
}
}
