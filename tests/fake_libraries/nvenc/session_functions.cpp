#include <algorithm>
#include <cstring>

#include "fake_libraries/nvenc/checks.h"
#include "fake_libraries/nvenc/functions.h"
#include "fake_libraries/nvenc/reserved.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

void keep(const Settings& settings) {
  auto& kept = world().configuration.emplace();
  kept.init = settings.init;
  kept.config = settings.config;
  kept.init.encodeConfig = &kept.config;
}

/// Takes over what a session is configured with.
void adopt(Session& session, const Settings& settings) {
  session.settings = std::make_shared<const Settings>(settings);
  keep(settings);
}

/// What the header's nvEncReconfigureEncoder lists as not supported, and what needs a capability.
Status check_change(Call& call, const Settings& now, const Settings& next) {
  const auto has = [&](NV_ENC_CAPS which) { return capability(now.codec(), which) != 0; };
  const NV_ENC_RC_PARAMS &rate = now.config.rcParams, &new_rate = next.config.rcParams;
  const bool resized =
      now.init.encodeWidth != next.init.encodeWidth || now.init.encodeHeight != next.init.encodeHeight;
  const bool new_rates =
      rate.averageBitRate != new_rate.averageBitRate || rate.maxBitRate != new_rate.maxBitRate;
  Checker check(call);
  check.require(now.init.encodeGUID == next.init.encodeGUID, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "encodeGUID changes");
  check.require(
      now.config.gopLength == next.config.gopLength &&
          now.config.frameIntervalP == next.config.frameIntervalP,
      NV_ENC_ERR_UNSUPPORTED_PARAM, "the GOP changes: gopLength from {} to {}, frameIntervalP from {} to {}",
      now.config.gopLength, next.config.gopLength, now.config.frameIntervalP, next.config.frameIntervalP);
  check.require(now.init.maxEncodeWidth == next.init.maxEncodeWidth &&
                    now.init.maxEncodeHeight == next.init.maxEncodeHeight,
                NV_ENC_ERR_UNSUPPORTED_PARAM, "maxEncodeWidth or maxEncodeHeight changes");
  check.require(now.init.enablePTD == next.init.enablePTD, NV_ENC_ERR_UNSUPPORTED_PARAM, "enablePTD changes");
  check.require(now.chroma() == next.chroma() && now.depth() == next.depth(), NV_ENC_ERR_UNSUPPORTED_PARAM,
                "the chroma format or the bit depth changes");
  check.require(!resized || (now.init.maxEncodeWidth > 0 && has(NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE)),
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "the size changes: that needs maxEncodeWidth and maxEncodeHeight from the beginning, and "
                "NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE");
  check.require(!new_rates || has(NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE), NV_ENC_ERR_UNSUPPORTED_PARAM,
                "the rate changes without NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE");
  check.require(
      rate.rateControlMode == new_rate.rateControlMode || has(NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE) ||
          (new_rate.rateControlMode == NV_ENC_PARAMS_RC_CONSTQP &&
           has(NV_ENC_CAPS_SUPPORT_DYN_FORCE_CONSTQP)),
      NV_ENC_ERR_UNSUPPORTED_PARAM, "rateControlMode changes without NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE");
  return check.status();
}

Status check_payload(Call& call, const NV_ENC_SEQUENCE_PARAM_PAYLOAD& payload) {
  Checker check(call);
  check.require(reserved_clear(payload), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_SEQUENCE_PARAM_PAYLOAD is not 0");
  check.require(payload.spsppsBuffer && payload.outSPSPPSPayloadSize, NV_ENC_ERR_INVALID_PTR,
                "spsppsBuffer or outSPSPPSPayloadSize is null");
  return check.status();
}

Status give_headers(Call& call, const Settings& settings, NV_ENC_SEQUENCE_PARAM_PAYLOAD& payload) {
  if (const Status status = check_payload(call, payload); status != NV_ENC_SUCCESS) return status;
  const Bytes bytes = write_headers(settings);
  if (bytes.size() > payload.inBufferSize)
    return call.refuse(NV_ENC_ERR_NOT_ENOUGH_BUFFER, "inBufferSize is {}, {} are needed",
                       payload.inBufferSize, bytes.size());
  std::memcpy(payload.spsppsBuffer, bytes.data(), bytes.size());
  *payload.outSPSPPSPayloadSize = static_cast<std::uint32_t>(bytes.size());
  return NV_ENC_SUCCESS;
}

} // namespace

Status open_session(Call& call, NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS* p, void** encoder) {
  *encoder = nullptr;
  Checker check(call);
  check.require(reserved_clear(*p), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS is not 0");
  check.require(p->apiVersion == api_version, NV_ENC_ERR_INVALID_VERSION, "apiVersion is {:#x}, not {:#x}",
                p->apiVersion, api_version);
  check.require(p->deviceType == NV_ENC_DEVICE_TYPE_CUDA, NV_ENC_ERR_UNSUPPORTED_DEVICE, "deviceType is {}",
                unsigned{p->deviceType});
  check.require(p->device != nullptr, NV_ENC_ERR_INVALID_DEVICE, "the context is null");
  if (!check.right()) return check.status();
  World& w = world();
  if (w.sessions.size() >= w.device.most_sessions)
    return call.tell(NV_ENC_ERR_OUT_OF_MEMORY, "the device has no session left");
  auto session = std::make_unique<Session>();
  session->context = p->device;
  *encoder = session.get();
  w.sessions[*encoder] = std::move(session);
  return NV_ENC_SUCCESS;
}

Status initialize(Call& call, NV_ENC_INITIALIZE_PARAMS* p) {
  if (call.session().settings)
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "the session is initialised already");
  Settings settings;
  if (const Status status = check_configuration(call, *p, settings); status != NV_ENC_SUCCESS) return status;
  adopt(call.session(), settings);
  return NV_ENC_SUCCESS;
}

Status reconfigure(Call& call, NV_ENC_RECONFIGURE_PARAMS* p) {
  Session& session = call.session();
  const Settings now = call.settings();
  NV_ENC_INITIALIZE_PARAMS init = p->reInitEncodeParams;
  if (!reserved_clear(*p))
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "a reserved member of NV_ENC_RECONFIGURE_PARAMS is not 0");
  if (init.version != version_of<NV_ENC_INITIALIZE_PARAMS>)
    return call.refuse(NV_ENC_ERR_INVALID_VERSION, "reInitEncodeParams's version is {:#x}, not {:#x}",
                       init.version, version_of<NV_ENC_INITIALIZE_PARAMS>);
  if (p->forceIDR && !init.enablePTD)
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "forceIDR is for enablePTD alone");
  NV_ENC_CONFIG same = now.config;
  if (!init.encodeConfig && init.presetGUID == now.init.presetGUID) init.encodeConfig = &same;
  Settings next;
  if (const Status status = check_configuration(call, init, next); status != NV_ENC_SUCCESS) return status;
  if (const Status status = check_change(call, now, next); status != NV_ENC_SUCCESS) return status;
  const bool resized =
      now.init.encodeWidth != next.init.encodeWidth || now.init.encodeHeight != next.init.encodeHeight;
  if (resized) flush(session);
  if (resized || p->forceIDR || p->resetEncoder) session.force_idr = true;
  if (resized) session.headers_due = true;
  adopt(session, next);
  return NV_ENC_SUCCESS;
}

Status set_streams(Call& call, void* input, void* output) {
  call.session().input_stream = *static_cast<void**>(input);
  call.session().output_stream = *static_cast<void**>(output);
  return NV_ENC_SUCCESS;
}

Status get_headers(Call& call, NV_ENC_SEQUENCE_PARAM_PAYLOAD* payload) {
  const Session& session = call.session();
  if (session.encoding_thread != std::thread::id{} && session.encoding_thread != std::this_thread::get_id())
    return call.refuse(NV_ENC_ERR_INVALID_CALL, "another thread calls nvEncEncodePicture");
  return give_headers(call, call.settings(), *payload);
}

Status get_headers_ex(Call& call, NV_ENC_INITIALIZE_PARAMS* p, NV_ENC_SEQUENCE_PARAM_PAYLOAD* payload) {
  if (call.session().settings) return get_headers(call, payload);
  Settings settings;
  if (const Status status = check_configuration(call, *p, settings); status != NV_ENC_SUCCESS) return status;
  return give_headers(call, settings, *payload);
}

Status invalidate_references(Call& call, std::uint64_t time) {
  Session& session = call.session();
  if (!capability(call.settings().codec(), NV_ENC_CAPS_SUPPORT_REF_PIC_INVALIDATION))
    return call.refuse(NV_ENC_ERR_UNSUPPORTED_PARAM,
                       "the device has no NV_ENC_CAPS_SUPPORT_REF_PIC_INVALIDATION");
  auto& times = session.reference_times;
  const auto found = std::find(times.begin(), times.end(), time);
  if (found == times.end())
    return call.refuse(NV_ENC_ERR_INVALID_PARAM, "no reference picture has the time stamp {}", time);
  times.erase(found, times.end()); // those behind it were made of it
  if (times.empty()) session.force_intra = true;
  return NV_ENC_SUCCESS;
}

Status destroy_session(Call& call) {
  Session& session = call.session();
  World& w = world();
  const auto left = static_cast<long>(session.inputs.size() + session.outputs.size() +
                                      session.resources.size() + session.mappings.size());
  if (left > 0)
    call.note(fmt::format("{} input buffers, {} bitstream buffers, {} resources, {} mappings are left",
                          session.inputs.size(), session.outputs.size(), session.resources.size(),
                          session.mappings.size()));
  w.leaked += left;
  w.unflushed += static_cast<long>(session.lookahead.size() + session.held.size());
  w.sessions.erase(&session);
  return NV_ENC_SUCCESS;
}

} // namespace lanner::fake_nvenc
