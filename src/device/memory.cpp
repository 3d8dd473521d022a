#include "device/memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <lanner/error.h>

#include "base/check.h"
#include "base/huge_pages.h"
#include "base/limits/account.h"
#include "base/threads/thread_settings.h"

#include "device/cuda/gpu.h"

namespace lanner {
namespace {

constexpr std::uint64_t alignment = 64;

/// The first aligned byte of a block from malloc(). aligned_alloc() of glibc gives back what it takes for the
/// alignment, so a freed block is too small for the next request of its size and the heap grows with each.
void* aligned(void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return static_cast<std::byte*>(block) + (alignment - address % alignment) % alignment;
}

std::shared_ptr<void> allocate_host(std::uint64_t bytes) {
  const std::uint64_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t wanted = std::max(rounded, bytes); // the rounding may overflow 64 bits
  Charge charge(current_account(), wanted);
  charge.add(block_overhead);
  if (auto outside = allocated_outside({LANNER_CPU, 0, 0, 0, wanted, alignment}, charge)) return outside;
  void* const block = rounded + alignment < bytes ? nullptr : std::malloc(rounded + alignment);
  check(block != nullptr, ErrorCode::out_of_memory, "the system refused {} bytes", bytes);
  if (rounded >= 2 * huge_page) prefer_huge_pages(block, rounded);
  if (!charge.counts()) return {aligned(block), [block](void*) noexcept { std::free(block); }};
  return {aligned(block),
          [block, account = charge.leave(), charged = rounded + block_overhead](void*) noexcept {
            std::free(block);
            account->release(charged);
          }};
}

/// A deleter: a driver that is gone, as when the process ends, has freed all memory itself. The bytes of
/// `charge` are released from its account.
template<typename Free>
auto freed_by(const cuda::Gpu& gpu, Charge& charge, Free free) {
  const std::uint64_t charged = charge.bytes();
  return [&gpu, free, charged, account = charge.leave()](void* memory) noexcept {
    if (account) account->release(charged);
    try {
      const cuda::Current current(gpu);
      static_cast<void>(free(memory));
    } catch (const Error&) {
    }
  };
}

[[noreturn]] void refuse(const Error& error, Device device, std::uint64_t bytes) {
  throw error.within(fmt::format("{} bytes on {}", bytes, device.to_string()));
}

std::shared_ptr<void> allocate_cuda(Device device, std::uint64_t bytes) {
  constexpr std::uint64_t gpu_alignment = 256;
  Charge charge = charge_total(bytes);
  if (auto outside = allocated_outside({LANNER_CUDA, device.index, 0, 0, bytes, gpu_alignment}, charge))
    return outside;
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  const cuda::Current current(gpu);
  cuda::DevicePointer memory = 0;
  try {
    cuda::check(cuda::driver().memory_alloc(&memory, std::max<std::uint64_t>(bytes, 1)), "cuMemAlloc");
  } catch (const Error& error) {
    refuse(error, device, bytes);
  }
  return {reinterpret_cast<void*>(memory), freed_by(gpu, charge, [](void* pointer) {
            return cuda::driver().memory_free(reinterpret_cast<cuda::DevicePointer>(pointer));
          })};
}

cuda::DevicePointer pointer(const MemoryLocation& location) {
  return reinterpret_cast<cuda::DevicePointer>(location.data);
}

} // namespace

std::shared_ptr<void> allocate_memory(Device device, std::uint64_t bytes) {
  return device.is_host() ? allocate_host(bytes) : allocate_cuda(device, bytes);
}

std::shared_ptr<void> allocate_pinned(Device device, std::uint64_t bytes) {
  if (device.is_host()) return allocate_host(bytes);
  Charge charge(current_account(), bytes);
  if (auto outside = allocated_outside({LANNER_CPU, device.index, 1, 0, bytes, alignment}, charge))
    return outside;
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  const cuda::Current current(gpu);
  void* memory = nullptr;
  try {
    cuda::check(
        cuda::driver().host_alloc(&memory, std::max<std::uint64_t>(bytes, 1), cuda::host_alloc_portable),
        "cuMemHostAlloc");
  } catch (const Error& error) {
    refuse(error, device, bytes);
  }
  return {memory, freed_by(gpu, charge, [](void* pinned) { return cuda::driver().host_free(pinned); })};
}

void copy_memory(const MemoryLocation& to, const MemoryLocation& from, std::uint64_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (to.device.is_host() && from.device.is_host()) {
    std::memcpy(to.data, from.data, bytes);
    return;
  }
  const cuda::Current current(cuda::Gpu::get(to.device.is_host() ? from.device : to.device));
  const auto queue = static_cast<cuda::StreamHandle>(stream.handle);
  if (from.device.is_host())
    cuda::check(cuda::driver().copy_to_device(pointer(to), from.data, bytes, queue), "cuMemcpyHtoDAsync");
  else if (to.device.is_host())
    cuda::check(cuda::driver().copy_to_host(to.data, pointer(from), bytes, queue), "cuMemcpyDtoHAsync");
  else if (from.device == to.device)
    cuda::check(cuda::driver().copy(pointer(to), pointer(from), bytes, queue), "cuMemcpyAsync");
  else
    cuda::copy_between(pointer(to), cuda::Gpu::get(to.device), pointer(from), cuda::Gpu::get(from.device),
                       bytes, queue);
}

void copy_rows(const PitchedMemory& to, const PitchedMemory& from, std::uint64_t row_bytes,
               std::uint64_t rows, Stream stream) {
  if (row_bytes == 0 || rows == 0) return;
  const Device target = to.first.device, origin = from.first.device;
  if (target.is_host() && origin.is_host()) {
    auto* out = static_cast<std::byte*>(to.first.data);
    const auto* in = static_cast<const std::byte*>(from.first.data);
    for (std::uint64_t y = 0; y < rows; ++y, out += to.pitch, in += from.pitch)
      std::memcpy(out, in, row_bytes);
    return;
  }
  cuda::CopyRows copy;
  copy.from_type = origin.is_host() ? cuda::memory_host : cuda::memory_device;
  copy.to_type = target.is_host() ? cuda::memory_host : cuda::memory_device;
  copy.from_host = from.first.data, copy.from_device = pointer(from.first);
  copy.to_host = to.first.data, copy.to_device = pointer(to.first);
  copy.from_pitch = static_cast<std::size_t>(from.pitch), copy.to_pitch = static_cast<std::size_t>(to.pitch);
  copy.row_bytes = row_bytes, copy.rows = rows;
  const cuda::Current current(cuda::Gpu::get(target.is_host() ? origin : target));
  cuda::check(cuda::driver().copy_rows(&copy, static_cast<cuda::StreamHandle>(stream.handle)),
              "cuMemcpy2DAsync");
}

void clear_memory(const MemoryLocation& location, std::uint64_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (location.device.is_host()) {
    std::memset(location.data, 0, bytes);
    return;
  }
  const cuda::Current current(cuda::Gpu::get(location.device));
  cuda::check(
      cuda::driver().set_bytes(pointer(location), 0, bytes, static_cast<cuda::StreamHandle>(stream.handle)),
      "cuMemsetD8Async");
}

void synchronize(Device device, Stream stream) {
  if (device.is_host()) return;
  const cuda::Current current(cuda::Gpu::get(device));
  cuda::check(cuda::driver().stream_synchronize(static_cast<cuda::StreamHandle>(stream.handle)),
              "cuStreamSynchronize");
}

} // namespace lanner
