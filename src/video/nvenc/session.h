#pragma once
// One session of NVENC: a GPU's encoder, from opening to destruction.

#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/gpu.h"
#include "video/nvenc/library.h"

namespace lanner::nvenc {

/// Codecs by FFmpeg's names.
enum class Codec : uint8_t { h264, hevc, av1 };
inline constexpr Codec all_codecs[] = {Codec::h264, Codec::hevc, Codec::av1};
std::string_view name_of(Codec codec) noexcept;
const GUID& guid_of(Codec codec) noexcept;

/// Used by one thread at a time; every call expects the session's context to be the thread's.
class Session {
public:
  /// Opens it on a GPU, in the caller's context or, with null, the primary one. Throws Error{unsupported} for
  /// a GPU without NVENC, Error{out_of_memory} where the driver opens no more.
  Session(const cuda::Gpu& gpu, cuda::ContextHandle context);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const cuda::Gpu& gpu() const noexcept { return gpu_; }
  cuda::ContextHandle context() const noexcept { return context_; }
  bool in_primary_context() const noexcept { return context_ == gpu_.context(); }

  bool has(Codec codec) const;
  bool has_profile(Codec codec, const GUID& profile) const;
  int capability(Codec codec, NV_ENC_CAPS which) const;
  /// The configuration of P1 (1) to P7 (7).
  NV_ENC_CONFIG preset(Codec codec, int number, NV_ENC_TUNING_INFO tuning) const;
  /// Parameter sets, or the sequence header, of what it was initialised with.
  std::vector<std::byte> headers() const;

  /// Calls a function of the table; throws as check() does.
  template<typename... Parameters, typename... Arguments>
  void call(NVENCSTATUS (*Api::*function)(void*, Parameters...), const char* name,
            Arguments... arguments) const {
    check((api_.*function)(handle_, arguments...), name);
  }
  /// The same of what gives something back, where nobody can be told of a failure.
  template<typename... Parameters, typename... Arguments>
  void release(NVENCSTATUS (*Api::*function)(void*, Parameters...), Arguments... arguments) const noexcept {
    static_cast<void>((api_.*function)(handle_, arguments...));
  }
  NVENCSTATUS encode(NV_ENC_PIC_PARAMS& picture) const noexcept {
    return api_.nvEncEncodePicture(handle_, &picture);
  }
  NVENCSTATUS lock(NV_ENC_LOCK_BITSTREAM& packet) const noexcept {
    return api_.nvEncLockBitstream(handle_, &packet);
  }
  NVENCSTATUS unlock(NV_ENC_OUTPUT_PTR packet) const noexcept {
    return api_.nvEncUnlockBitstream(handle_, packet);
  }
  /// Throws Error{device} (invalid_argument, unsupported, out_of_memory for those statuses) with the driver's
  /// own words unless `status` is success.
  void check(NVENCSTATUS status, const char* call) const;

private:
  void check_opened(NVENCSTATUS status) const;

  const Api& api_;
  const cuda::Gpu& gpu_;
  cuda::ContextHandle context_;
  void* handle_ = nullptr;
};

} // namespace lanner::nvenc
