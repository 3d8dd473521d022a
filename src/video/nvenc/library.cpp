#include "video/nvenc/library.h"

#include <iterator>

namespace lanner::nvenc {
namespace {

constexpr const char* remedy = "libnvidia-encode comes with NVIDIA's driver, from 530 on (in containers with "
                               "NVIDIA_DRIVER_CAPABILITIES=video,compute,utility); or take device cpu, which "
                               "encodes by FFmpeg's libx264, "
                               "libx265 or SVT-AV1";

// NvEncodeAPICreateInstance fills in the table; only two symbols are the library's own.
bool fill_table(cuda::SharedLibrary& library, Api& table) {
  GetMaxSupportedVersion max_version = nullptr;
  CreateInstance create = nullptr;
  if (!library.bind("NvEncodeAPIGetMaxSupportedVersion", max_version) ||
      !library.bind("NvEncodeAPICreateInstance", create))
    return false;
  uint32_t version = 0;
  if (const NVENCSTATUS status = max_version(&version); status != NV_ENC_SUCCESS) {
    library.reason = fmt::format("{}: NvEncodeAPIGetMaxSupportedVersion: {}", library.path, name_of(status));
    return false;
  }
  if (version < needed_version) {
    library.reason = fmt::format("{} has version {}.{} of the NVENC API, older than {}.{}", library.path,
                                 version >> 4, version & 15, api_major, api_minor);
    return false;
  }
  table = versioned<Api>();
  const NVENCSTATUS status = create(&table);
  if (status != NV_ENC_SUCCESS)
    library.reason = fmt::format("{}: NvEncodeAPICreateInstance: {}", library.path, name_of(status));
  return status == NV_ENC_SUCCESS;
}

} // namespace

LibraryStatus open_library(std::span<const char* const> names) {
  return cuda::open_table<Api>({names, fill_table, remedy});
}

const LibraryStatus& library_status() {
  static const auto* status = new LibraryStatus([] {
    const char* const names[] = {"libnvidia-encode.so.1"};
    return open_library(names);
  }());
  return *status;
}

const Api& api() {
  return cuda::table_of(library_status(), "NVENC");
}

std::string_view name_of(NVENCSTATUS status) noexcept {
  constexpr std::string_view names[] = {
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

} // namespace lanner::nvenc
