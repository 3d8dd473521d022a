#include "device/cuda/driver.h"

#include "base/check.h"
#include "base/options.h"
#include "device/cuda/shared_library.h"

namespace lanner::cuda {
namespace {

bool bind_memory(SharedLibrary& library, Driver& d) {
  return library.bind("cuMemAlloc_v2", d.memory_alloc) && library.bind("cuMemFree_v2", d.memory_free) &&
         library.bind("cuMemGetInfo_v2", d.memory_info) && library.bind("cuMemHostAlloc", d.host_alloc) &&
         library.bind("cuMemFreeHost", d.host_free) && library.bind("cuMemcpyAsync", d.copy) &&
         library.bind("cuMemcpyHtoDAsync_v2", d.copy_to_device) &&
         library.bind("cuMemcpyDtoHAsync_v2", d.copy_to_host) &&
         library.bind("cuMemcpyPeerAsync", d.copy_between) &&
         library.bind("cuDeviceCanAccessPeer", d.can_reach) &&
         library.bind("cuCtxEnablePeerAccess", d.enable_reach) &&
         library.bind("cuMemcpy2DAsync_v2", d.copy_rows) &&
         library.bind("cuMemAllocAsync", d.memory_alloc_async) &&
         library.bind("cuMemFreeAsync", d.memory_free_async) &&
         library.bind("cuMemsetD8Async", d.set_bytes) &&
         library.bind("cuPointerGetAttribute", d.pointer_attribute);
}

bool bind_streams(SharedLibrary& library, Driver& d) {
  return library.bind("cuStreamCreate", d.stream_create) &&
         library.bind("cuStreamDestroy_v2", d.stream_destroy) &&
         library.bind("cuStreamSynchronize", d.stream_synchronize) &&
         library.bind("cuStreamWaitEvent", d.stream_wait_event) &&
         library.bind("cuStreamBeginCapture_v2", d.stream_begin_capture) &&
         library.bind("cuStreamEndCapture", d.stream_end_capture) &&
         library.bind("cuEventCreate", d.event_create) &&
         library.bind("cuEventDestroy_v2", d.event_destroy) &&
         library.bind("cuEventRecord", d.event_record) && library.bind("cuEventQuery", d.event_query) &&
         library.bind("cuEventSynchronize", d.event_synchronize) &&
         library.bind("cuEventElapsedTime", d.event_elapsed);
}

bool bind_code(SharedLibrary& library, Driver& d) {
  return library.bind("cuGraphInstantiateWithFlags", d.graph_instantiate) &&
         library.bind("cuGraphLaunch", d.graph_launch) && library.bind("cuGraphDestroy", d.graph_destroy) &&
         library.bind("cuGraphExecDestroy", d.graph_exec_destroy) &&
         library.bind("cuModuleLoadData", d.module_load) && library.bind("cuModuleUnload", d.module_unload) &&
         library.bind("cuModuleGetFunction", d.module_function) &&
         library.bind("cuFuncSetAttribute", d.function_set_attribute) &&
         library.bind("cuTensorMapEncodeTiled", d.tensor_map_tiled) &&
         library.bind("cuTensorMapEncodeIm2col", d.tensor_map_images) &&
         library.bind("cuLaunchKernel", d.launch);
}

/// Binds functions of newer drivers: all of them or none.
void bind_newer(SharedLibrary& library, Driver& d) {
  if (library.bind("cuGraphGetEdges_v2", d.graph_edges) &&
      library.bind("cuGraphAddDependencies_v2", d.graph_add_edges) &&
      library.bind("cuGraphRemoveDependencies_v2", d.graph_remove_edges) &&
      library.bind("cuGraphNodeGetType", d.graph_node_type) &&
      library.bind("cuGraphKernelNodeGetParams_v2", d.graph_kernel_node))
    return;
  d.graph_edges = nullptr;
  d.graph_add_edges = nullptr;
  d.graph_remove_edges = nullptr;
  d.graph_node_type = nullptr;
  d.graph_kernel_node = nullptr;
}

bool bind_all(SharedLibrary& library, Driver& d) {
  return library.bind("cuInit", d.init) && library.bind("cuDriverGetVersion", d.version) &&
         library.bind("cuGetErrorName", d.error_name) && library.bind("cuGetErrorString", d.error_string) &&
         library.bind("cuDeviceGetCount", d.device_count) && library.bind("cuDeviceGet", d.device_get) &&
         library.bind("cuDeviceGetName", d.device_name) &&
         library.bind("cuDeviceTotalMem_v2", d.device_memory) &&
         library.bind("cuDeviceGetAttribute", d.device_attribute) &&
         library.bind("cuDevicePrimaryCtxRetain", d.context_retain) &&
         library.bind("cuCtxPushCurrent_v2", d.context_push) &&
         library.bind("cuCtxPopCurrent_v2", d.context_pop) && bind_memory(library, d) &&
         bind_streams(library, d) && bind_code(library, d);
}

std::string words(const Driver& driver, Result status) {
  const char *name = nullptr, *text = nullptr;
  const bool named = driver.error_name(status, &name) == success && name;
  const bool described = driver.error_string(status, &text) == success && text;
  return fmt::format("{} ({})", named ? name : "error " + std::to_string(status),
                     described ? text : "no description");
}

} // namespace

DriverStatus open_driver(const char* name) {
  DriverStatus status;
  const char* const names[] = {name};
  SharedLibrary library = open_library(names);
  status.path = library.path;
  status.reason = library.reason;
  if (!library.handle) return status;
  auto table = std::make_unique<Driver>();
  if (!bind_all(library, *table)) {
    status.reason = library.reason + ", which drivers of CUDA 12 and newer have";
    return status;
  }
  bind_newer(library, *table);
  static_cast<void>(table->version(&status.version));
  if (const Result result = table->init(0); result != success) {
    status.reason = fmt::format("cuInit: {}", words(*table, result));
    return status;
  }
  if (table->device_count(&status.devices) != success || status.devices <= 0)
    status.reason = "the driver lists no GPU";
  status.driver = table.release(); // used while static objects are destroyed
  return status;
}

const DriverStatus& driver_status() {
  static const auto* status = new DriverStatus([] {
    const std::string& own = options().cuda_driver;
    return open_driver(own.empty() ? "libcuda.so.1" : own.c_str());
  }());
  return *status;
}

const Driver& driver() {
  const DriverStatus& status = driver_status();
  lanner::check(status.driver != nullptr, ErrorCode::unsupported,
                "CUDA cannot be used here: {}; install NVIDIA's driver, or use device cpu", status.reason);
  return *status.driver;
}

void check(Result status, const char* call) {
  if (status == success) [[likely]]
    return;
  fail(status == error_out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device, "{}: {}", call,
       words(driver(), status));
}

} // namespace lanner::cuda
