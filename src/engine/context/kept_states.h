#pragma once
// States: values that a context keeps between runs.

#include <cstddef>
#include <utility>

#include <lanner/tensor.h>

#include "program/memory/caller_memory.h"

namespace lanner {

/// Indices of an output and the input that gets its value at the next run.
struct StatePair {
  std::size_t input = 0, output = 0;
  friend bool operator==(const StatePair&, const StatePair&) = default;
};

/// Double buffer of one state: a run reads one and writes the other. Returned tensors are views, so a buffer
/// with a view that is still held is not overwritten.
class KeptState {
public:
  explicit KeptState(Device device) : device_(device) {}

  /// The memory that the next run reads, for the caller to fill. Old contents are lost.
  Tensor begin(DType dtype, const Shape& shape, const Layout& layout);
  /// The memory that a run writes while it reads the other.
  Tensor next(DType dtype, const Shape& shape, const Layout& layout);
  /// Call after a successful run: the next one reads what it wrote.
  void swap_buffers() noexcept { std::swap(read_, written_); }

private:
  Tensor view(Tensor& memory, DType dtype, const Shape& shape, const Layout& layout) const;
  Device device_;
  Tensor read_, written_; ///< Bytes; undefined before the first use.
};

} // namespace lanner
