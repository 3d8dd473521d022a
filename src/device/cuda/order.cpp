#include "device/cuda/order.h"

#include "base/check.h"
#include "base/limits/account.h"
#include "device/cuda/code.h"
#include "device/memory.h"

namespace lanner::cuda {

StreamOrder::StreamOrder(const Gpu& gpu) {
  if (has_embedded("order")) {
    kernel_ = embedded_function(gpu, "order", "order_stream");
    return;
  }
  const AccountScope lasting(no_account());
  byte_ = allocate_memory(gpu.device(), 1);
}

void StreamOrder::queue(StreamHandle stream) const {
  if (kernel_)
    check(driver().launch(kernel_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
  else
    check(driver().set_bytes(reinterpret_cast<DevicePointer>(byte_.get()), 0, 1, stream), "cuMemsetD8Async");
}

} // namespace lanner::cuda
