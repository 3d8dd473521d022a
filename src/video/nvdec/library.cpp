#include "video/nvdec/library.h"

#include <memory>

#include "device/cuda/shared_library.h"

namespace lanner::nvdec {
namespace {

bool bind_all(cuda::SharedLibrary& library, Api& a) {
  return library.bind("cuvidGetDecoderCaps", a.get_caps) &&
         library.bind("cuvidCreateDecoder", a.create_decoder) &&
         library.bind("cuvidReconfigureDecoder", a.reconfigure_decoder) &&
         library.bind("cuvidDestroyDecoder", a.destroy_decoder) &&
         library.bind("cuvidDecodePicture", a.decode_picture) &&
         library.bind("cuvidGetDecodeStatus", a.decode_status) &&
         library.bind("cuvidMapVideoFrame64", a.map_frame) &&
         library.bind("cuvidUnmapVideoFrame64", a.unmap_frame) &&
         library.bind("cuvidCreateVideoParser", a.create_parser) &&
         library.bind("cuvidParseVideoData", a.parse) &&
         library.bind("cuvidDestroyVideoParser", a.destroy_parser);
}

} // namespace

LibraryStatus open_library(std::span<const char* const> names) {
  LibraryStatus status;
  cuda::SharedLibrary library = cuda::open_library(names);
  status.path = library.path;
  status.reason = library.reason;
  if (!library.handle) return status;
  auto table = std::make_unique<Api>();
  if (!bind_all(library, *table)) {
    status.reason = library.reason + ", which drivers from 418 on have";
    return status;
  }
  status.api = table.release(); // used while static objects are destroyed
  return status;
}

const LibraryStatus& library_status() {
  static const auto* status = new LibraryStatus([] {
    const char* const names[] = {"libnvcuvid.so.1"};
    return open_library(names);
  }());
  return *status;
}

const Api& api() {
  const LibraryStatus& status = library_status();
  lanner::check(status.api != nullptr, ErrorCode::unsupported,
                "a GPU cannot decode here: {}; libnvcuvid comes with NVIDIA's driver (in containers with "
                "NVIDIA_DRIVER_CAPABILITIES=video,compute,utility)",
                status.reason);
  return *status.api;
}

Place Place::of(Device device, void* context) {
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  return {&gpu, context ? static_cast<cuda::ContextHandle>(context) : gpu.context()};
}

} // namespace lanner::nvdec
