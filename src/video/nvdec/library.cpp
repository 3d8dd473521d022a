#include "video/nvdec/library.h"

#include <atomic>
#include <system_error>

#include "base/threads/thread_name.h"

namespace lanner::nvdec {
namespace {

constexpr const char* remedy = "libnvcuvid comes with NVIDIA's driver, from 418 on (in containers with "
                               "NVIDIA_DRIVER_CAPABILITIES=video,compute,utility)";

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
  return cuda::open_table<Api>({names, bind_all, remedy});
}

const LibraryStatus& library_status() {
  static const auto* status = new LibraryStatus([] {
    const char* const names[] = {"libnvcuvid.so.1"};
    return open_library(names);
  }());
  return *status;
}

const Api& api() {
  return cuda::table_of(library_status(), "NVDEC");
}

EarlyStart::EarlyStart(std::optional<Device> device) {
  static std::atomic<bool> started = false;
  if ((device && device->is_host()) || started.exchange(true)) return;
  try {
    thread_ = std::thread([device = device.value_or(Device{DeviceKind::cuda, 0})] {
      try {
        static_cast<void>(library_status());
        static_cast<void>(cuda::Gpu::get(device));
      } catch (const Error&) { // Who decodes there is told.
      }
    });
    name_thread(thread_, "lanner-nvdec");
  } catch (const std::system_error&) { // No thread: it is opened when it is used.
  }
}

EarlyStart::~EarlyStart() {
  if (thread_.joinable()) thread_.join();
}

GpuContext GpuContext::of(Device device, void* context) {
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  return {&gpu, context ? static_cast<cuda::ContextHandle>(context) : gpu.context()};
}

} // namespace lanner::nvdec
