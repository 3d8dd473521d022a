#include <algorithm>
#include <cstring>

#include "device/cuda/gpu.h"
#include "device/memory.h"
#include "lower/check/trial.h"

namespace lanner {

static constexpr std::uint64_t guard_bytes = 4096;
static constexpr unsigned char guard_value = 0xA5;

GuardedBlock::GuardedBlock(std::uint64_t bytes, Device memory_device, Device device)
    : bytes_(bytes), memory_device_(memory_device) {
  const std::uint64_t whole = bytes + 2 * guard_bytes;
  memory_ = memory_device.is_host() && !device.is_host() ? allocate_pinned(device, whole)
                                                         : allocate_memory(memory_device, whole);
  data_ = static_cast<std::byte*>(memory_.get()) + guard_bytes;
  set(data_ - guard_bytes, guard_value, guard_bytes, {});
  set(data_ + bytes_, guard_value, guard_bytes, {});
  synchronize(memory_device_);
}

void GuardedBlock::set(std::byte* at, unsigned char value, std::uint64_t bytes, Stream stream) const {
  if (bytes == 0) return;
  if (memory_device_.is_host()) {
    std::memset(at, value, bytes);
    return;
  }
  const cuda::Current current(cuda::Gpu::get(memory_device_));
  cuda::check(cuda::driver().set_bytes(reinterpret_cast<cuda::DevicePointer>(at), value, bytes,
                                       static_cast<cuda::StreamHandle>(stream.handle)),
              "cuMemsetD8Async");
}

void GuardedBlock::fill(unsigned char value, Stream stream) const {
  set(data_, value, bytes_, stream);
}

bool GuardedBlock::intact() const {
  std::vector<unsigned char> words(2 * guard_bytes);
  copy_memory({words.data(), {}}, {data_ - guard_bytes, memory_device_}, guard_bytes);
  copy_memory({words.data() + guard_bytes, {}}, {data_ + bytes_, memory_device_}, guard_bytes);
  synchronize(memory_device_);
  return std::ranges::all_of(words, [](unsigned char word) { return word == guard_value; });
}

} // namespace lanner
