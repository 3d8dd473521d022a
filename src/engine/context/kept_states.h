#pragma once
// Values that a context keeps from run to run.

#include <cstddef>
#include <utility>

#include <lanner/tensor.h>

#include "program/memory/caller_memory.h"

namespace lanner {

/// An output whose value is an input's at the next run, by their numbers.
struct StatePair {
  std::size_t input = 0, output = 0;
  friend bool operator==(const StatePair&, const StatePair&) = default;
};

/// Memory of one state: what a run reads, and what it writes. Tensors given out are views, so a buffer that
/// somebody still holds one of is not written again.
class KeptState {
public:
  explicit KeptState(Device device) : device_(device) {}

  /// What the next run is to read, for the caller to fill. What was there before is gone.
  Tensor begin(DType dtype, const Shape& shape, const Layout& layout);
  /// What a run may write while it reads the other.
  Tensor next(DType dtype, const Shape& shape, const Layout& layout);
  /// A run has ended well: what it wrote is what the next one reads.
  void turn() noexcept { std::swap(read_, written_); }

private:
  Tensor view(Tensor& memory, DType dtype, const Shape& shape, const Layout& layout) const;
  Device device_;
  Tensor read_, written_; ///< Bytes; undefined where there are none yet.
};

} // namespace lanner
