#include "engine/context/kept_states.h"

#include <algorithm>

#include <lanner/limits.h>

#include "base/threads/sole_owner.h"

namespace lanner {

/// Buffers grow by half, so that a cache which grows by one step per run seldom allocates.
Tensor KeptState::view(Tensor& memory, DType dtype, const Shape& shape, const Layout& layout) const {
  const std::uint64_t needed = layout.bytes(shape, dtype);
  const bool held = memory.defined() && !sole_owner(memory.owner());
  if (!memory.defined() || held || memory.bytes() < needed) {
    std::uint64_t bytes = std::max<std::uint64_t>(needed, 64);
    if (memory.defined() && memory.bytes() < needed) bytes += bytes / 2;
    memory = {};
    Limits unbounded; // the account bounds it
    unbounded.tensor_bytes = UINT64_MAX;
    memory = Tensor::allocate(DType::u8, {static_cast<std::int64_t>(bytes)}, {}, device_, unbounded);
  }
  return Tensor::wrap(memory.data(), dtype, shape, memory.owner(), layout, device_);
}

Tensor KeptState::begin(DType dtype, const Shape& shape, const Layout& layout) {
  return view(read_, dtype, shape, layout);
}

Tensor KeptState::next(DType dtype, const Shape& shape, const Layout& layout) {
  return view(written_, dtype, shape, layout);
}

} // namespace lanner
