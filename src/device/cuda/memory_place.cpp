#include <lanner/cuda_memory.h>

#include <cstdint>

#include "device/cuda/driver.h"

namespace lanner {

Device device_of_cuda_memory(const void* address) {
  const cuda::Driver& driver = cuda::driver();
  int index = -1;
  const auto place = reinterpret_cast<cuda::DevicePointer>(address);
  const cuda::Result status = driver.pointer_attribute(&index, cuda::pointer_attribute_device_ordinal, place);
  check(status == cuda::success && index >= 0 && index <= INT16_MAX, ErrorCode::invalid_argument,
        "address {:#x}: no memory of CUDA's in this process", reinterpret_cast<std::uintptr_t>(address));
  return {DeviceKind::cuda, static_cast<std::int16_t>(index)};
}

} // namespace lanner
