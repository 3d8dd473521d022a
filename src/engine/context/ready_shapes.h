#pragma once
// LRU cache of a context's prepared shapes, so that switching back to one is cheap.

#include <cstdint>
#include <memory>
#include <vector>

#include <lanner/item.h>
#include <lanner/tensor.h>

#include "engine/context/given_shapes.h"
#include "run/execution.h"

namespace lanner {

/// Pointers, recorded graphs and memory for runs of one set of shapes.
struct ReadyShapes {
  InputShapes shapes;
  Arenas arenas;
  std::unique_ptr<Execution> execution;
  /// For states on a GPU, whose two buffers are swapped: one execution per order, so that graphs recorded
  /// with their pointers stay valid. Null until needed.
  std::unique_ptr<Execution> other;
  std::vector<Item> results;  ///< By output.
  std::vector<Tensor> staged; ///< By input, for a GPU: device copy of host data.
  std::vector<Tensor>
      written; ///< By output, for a GPU: device memory of a result that is copied to the host.

  ReadyShapes(InputShapes of, std::shared_ptr<const Program> program, const Arenas& arenas);
  /// Whether an output has a data-dependent size, or is not a numeric tensor.
  bool is_item(std::size_t output) const;
  ValueLocation::Kind location_of(std::size_t output) const;
  /// Makes the other execution the current one; inputs must be set again.
  void swap_executions();
  /// Releases values of the last run except the context's own memory of results; `lent` says which outputs'
  /// memory is not its own.
  void rest(const std::vector<bool>& lent);
  /// Bytes of results, copies and its executions; the arena is shared.
  std::uint64_t bytes() const;
};

/// The prepared shapes of one context, most recent first. Used by one thread at a time.
class ReadyList {
public:
  ReadyShapes* current() const noexcept { return list_.empty() ? nullptr : list_.front().get(); }
  /// Makes these shapes current; false where they are not in the list. The previous ones become idle.
  bool take(const InputShapes& shapes, const std::vector<bool>& lent);
  void add(std::unique_ptr<ReadyShapes> ready, const std::vector<bool>& lent);
  /// Drops idle ones, least recently used first, until their number and bytes are within bounds.
  void trim(std::uint64_t max_bytes);
  /// Drops all idle ones; false where there are none.
  bool drop_idle();
  void clear() noexcept { list_.clear(); }

private:
  std::vector<std::unique_ptr<ReadyShapes>> list_;
};

/// Reusable tensors of several shapes, most recently used first. Used by one thread at a time.
class SpareTensors {
public:
  /// A tensor that nobody else references, else a new one.
  Tensor& get(DType dtype, const Shape& shape, Device device, std::uint64_t max_bytes);
  /// Drops all but the most recent one; false where there are none.
  bool drop_idle();

private:
  std::vector<Tensor> list_;
};

} // namespace lanner
