#include "run/transfers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <lanner/error.h>

#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/threads/sole_owner.h"
#include "ops/control/control_flow.h"
#include "ops/definition/axis.h"
#include "program/loop_values.h"
#include "run/execution.h"

namespace lanner {
namespace {

constexpr std::uint64_t kept_runs = 16;

/// Rounds block sizes, so that slightly different sizes reuse blocks.
std::uint64_t rounded(std::uint64_t bytes) {
  constexpr std::uint64_t least = 4096;
  if (bytes <= least) return least;
  const std::uint64_t step = std::bit_floor(bytes) / 4;
  return bytes > UINT64_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

/// Whether memory comes from a call's own allocator, so that no other call may reuse it.
bool belongs_to_call() {
  const CallResources* call = thread_bounds().call;
  return call && call->allocator;
}

struct Slices {
  std::uint64_t outer = 1, bytes = 0; ///< `outer` pieces of `bytes` bytes make one slice.
  std::uint64_t pitch = 0, offset = 0;
};

Slices slices_of(const Tensor& whole, std::size_t axis, std::int64_t position) {
  const Shape& shape = whole.shape();
  Slices slices;
  slices.bytes = bit_width(whole.dtype()) / 8;
  for (std::size_t d = 0; d < axis; ++d) slices.outer *= static_cast<std::uint64_t>(shape[d]);
  for (std::size_t d = axis + 1; d < shape.rank(); ++d) slices.bytes *= static_cast<std::uint64_t>(shape[d]);
  slices.pitch = slices.bytes * static_cast<std::uint64_t>(shape[axis]);
  slices.offset = slices.bytes * static_cast<std::uint64_t>(position);
  return slices;
}

PitchedMemory rows_at(const Tensor& tensor, std::uint64_t offset, std::uint64_t pitch) {
  MemoryLocation first = location_of(tensor);
  first.data = static_cast<std::byte*>(first.data) + offset;
  return {first, static_cast<std::int64_t>(pitch)};
}

} // namespace

bool is_plain(const Tensor& tensor, Device device) {
  return tensor.layout().row_major() && tensor.device() == device;
}

MemoryLocation location_of(const Tensor& tensor) {
  return {const_cast<void*>(tensor.data()), tensor.device()};
}

bool fits_kernels(const MemoryLocation& location) {
  return location.device.is_host() || reinterpret_cast<std::uintptr_t>(location.data) % gpu_alignment == 0;
}

Tensor RunMemory::allocate(DType type, const Shape& shape, Device device) {
  const std::uint64_t bytes = Layout{}.bytes(shape, type);
  const Limits limits = current_limits();
  check_limit("tensor_bytes", bytes, limits.tensor_bytes, "tensor: {}{} takes {} bytes", to_string(type),
              shape.to_string(), bytes);
  if (belongs_to_call()) return Tensor::allocate(type, shape, {}, device, limits);
  Block* block = find(device, bytes);
  if (!block) {
    const std::uint64_t wanted = rounded(bytes);
    std::shared_ptr<void> memory;
    try {
      memory = allocate_memory(device, wanted);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::limit_exceeded) throw;
      drop_idle();
      memory = allocate_memory(device, wanted);
    }
    block = &blocks_.emplace_back(RunMemory::Block{std::move(memory), device, wanted});
  }
  block->last_run = run_;
  return Tensor::wrap(block->memory.get(), type, shape, block->memory, {}, device);
}

/// The smallest free block that is not far too large.
RunMemory::Block* RunMemory::find(Device device, std::uint64_t bytes) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    const bool fits = block.device == device && block.bytes >= bytes &&
                      block.bytes <= 2 * std::max<std::uint64_t>(rounded(bytes), 1) &&
                      sole_owner(block.memory);
    if (fits && (!best || block.bytes < best->bytes)) best = &block;
  }
  return best;
}

void RunMemory::drop_idle() {
  std::erase_if(blocks_, [](const Block& block) { return block.memory.use_count() == 1; });
}

void RunMemory::begin_run() {
  ++run_;
  std::erase_if(blocks_, [&](const Block& block) {
    return block.memory.use_count() == 1 && block.last_run + kept_runs < run_;
  });
}

std::uint64_t RunMemory::bytes() const noexcept {
  std::uint64_t total = 0;
  for (const Block& block : blocks_) total += block.bytes;
  return total;
}

Transfers::Transfers(const RunRequest& request) : stream_(request.stream), memory_(request.memory) {}

Tensor Transfers::allocate(DType type, const Shape& shape, Device device) const {
  if (device.is_host()) return Tensor::allocate(type, shape, {}, {}, current_limits());
  return memory_->allocate(type, shape, device);
}

Tensor Transfers::on(Device device, const Tensor& tensor) const {
  if (!tensor.defined() || is_plain(tensor, device)) return tensor;
  if (!tensor.layout().row_major()) {
    wait(tensor.device());
    return on(device, tensor.clone());
  }
  Tensor there = allocate(tensor.dtype(), tensor.shape(), device);
  copy_memory(location_of(there), location_of(tensor), tensor.bytes(), stream_);
  if (device.is_host()) wait(tensor.device());
  return there;
}

Item Transfers::on(Device device, const Item& item) const {
  if (!item.is_sequence()) {
    Item moved = item;
    // Strings are on the host only.
    if (item.tensor.defined() && item.tensor.dtype() != DType::string) moved.tensor = on(device, item.tensor);
    return moved;
  }
  std::vector<Item> elements;
  bool same = true;
  for (const Item& element : *item.items) {
    elements.push_back(on(device, element));
    same = same && elements.back().tensor.data() == element.tensor.data() &&
           elements.back().items == element.items;
  }
  return same ? item : ops::sequence_of(std::move(elements));
}

Tensor Transfers::clone(const Tensor& tensor) const {
  if (tensor.device().is_host()) return tensor.clone();
  if (!tensor.layout().row_major()) return on(tensor.device(), on(Device{}, tensor));
  Tensor copy = allocate(tensor.dtype(), tensor.shape(), tensor.device());
  copy_memory(location_of(copy), location_of(tensor), tensor.bytes(), stream_);
  return copy;
}

void Transfers::copy(const MemoryLocation& to, const MemoryLocation& from, std::uint64_t bytes) const {
  if (to.data != from.data) copy_memory(to, from, bytes, stream_);
}

void Transfers::copy_slice(const Tensor& slice, const Tensor& whole, std::size_t axis,
                           std::int64_t position) const {
  const Slices slices = slices_of(whole, axis, position);
  copy_rows(rows_at(whole, slices.offset, slices.pitch), rows_at(slice, 0, slices.bytes), slices.bytes,
            slices.outer, stream_);
}

void Transfers::take_slice(const Tensor& whole, std::size_t axis, std::int64_t position,
                           const Tensor& slice) const {
  const Slices slices = slices_of(whole, axis, position);
  copy_rows(rows_at(slice, 0, slices.bytes), rows_at(whole, slices.offset, slices.pitch), slices.bytes,
            slices.outer, stream_);
}

void Transfers::clear(const MemoryLocation& location, std::uint64_t bytes) const {
  clear_memory(location, bytes, stream_);
}

} // namespace lanner
