#include "device/gpus.h"

#include <array>

#include <dlfcn.h>
#include <link.h>

#include <fmt/format.h>

namespace lanner {
namespace {

/// The driver's functions that listing takes; names and numbers as in the CUDA driver API's cuda.h.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
};
constexpr int compute_capability_major = 75, compute_capability_minor = 76;

template<typename Function>
bool bind(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool bind_all(void* library, Driver& driver) {
  return bind(library, "cuInit", driver.init) && bind(library, "cuDriverGetVersion", driver.version) &&
         bind(library, "cuDeviceGetCount", driver.count) && bind(library, "cuDeviceGet", driver.device) &&
         bind(library, "cuDeviceGetName", driver.name) &&
         bind(library, "cuDeviceTotalMem_v2", driver.memory) &&
         bind(library, "cuDeviceGetAttribute", driver.attribute);
}

Gpu describe(const Driver& driver, int index) {
  Gpu gpu;
  int device = 0;
  if (driver.device(&device, index) != 0) return gpu;
  std::array<char, 256> name{};
  if (driver.name(name.data(), static_cast<int>(name.size()) - 1, device) == 0) gpu.name = name.data();
  std::size_t bytes = 0;
  if (driver.memory(&bytes, device) == 0) gpu.memory_bytes = bytes;
  driver.attribute(&gpu.major, compute_capability_major, device);
  driver.attribute(&gpu.minor, compute_capability_minor, device);
  return gpu;
}

void ask(const Driver& driver, GpuList& list) {
  int version = 0;
  if (driver.version(&version) == 0) list.version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  if (const int status = driver.init(0); status != 0) {
    list.reason = fmt::format("the driver's cuInit gave error {}", status);
    return;
  }
  int count = 0;
  if (driver.count(&count) != 0 || count <= 0) {
    list.reason = "the driver lists no GPU";
    return;
  }
  for (int i = 0; i < count; ++i) list.gpus.push_back(describe(driver, i));
}

} // namespace

GpuList list_gpus(const char* library) {
  GpuList list;
  // Never closed: CUDA drivers do not survive being unloaded.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    list.reason = reason ? reason : "the driver's library cannot be opened";
    return list;
  }
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) list.path = map->l_name;
  Driver driver;
  if (bind_all(handle, driver))
    ask(driver, list);
  else
    list.reason = fmt::format("{}: a function of the CUDA driver is missing", library);
  return list;
}

} // namespace lanner
