#include "fake_libraries/nvenc/call.h"

#include <algorithm>

extern "C" int cuCtxPushCurrent_v2(void*);
extern "C" int cuCtxPopCurrent_v2(void**);

namespace lanner::fake_nvenc {

using namespace nvenc;

Call::Call(const char* function) : lock_(world().mutex), function_(function) {
  World& w = world();
  ++w.calls;
  w.log += function;
  w.log += '\n';
  for (Failure& failure : w.failures) {
    if (!failure.function.empty() && failure.function != function) continue;
    if (--failure.number == 0) asked_for_ = static_cast<NVENCSTATUS>(failure.status);
  }
  std::erase_if(w.failures, [](const Failure& failure) { return failure.number == 0; });
}

NVENCSTATUS Call::find(void* encoder) {
  if (!encoder) return refuse(NV_ENC_ERR_INVALID_PTR, "the session is null");
  const auto found = world().sessions.find(encoder);
  if (found == world().sessions.end())
    return refuse(NV_ENC_ERR_INVALID_ENCODERDEVICE, "there is no such session");
  session_ = found->second.get();
  return NV_ENC_SUCCESS;
}

NVENCSTATUS Call::needs_settings() {
  if (session_->settings) return NV_ENC_SUCCESS;
  return refuse(NV_ENC_ERR_ENCODER_NOT_INITIALIZED, "nvEncInitializeEncoder was not called, or failed");
}

NVENCSTATUS Call::tell(NVENCSTATUS status, std::string words) {
  if (session_) session_->last_error = std::move(words);
  return status;
}

NVENCSTATUS Call::record(NVENCSTATUS status, const std::string& words) {
  world().misuse += fmt::format("{}: {}: {}\n", function_, name_of(status), words);
  return tell(status, words);
}

InContext::InContext(const Session& session) {
  cuCtxPushCurrent_v2(session.context);
}
InContext::~InContext() {
  void* popped = nullptr;
  cuCtxPopCurrent_v2(&popped);
}

} // namespace lanner::fake_nvenc
