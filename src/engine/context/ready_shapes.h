#pragma once
// What a context keeps of the shapes that it ran lately, so that going back to them costs next to nothing.

#include <cstdint>
#include <memory>
#include <vector>

#include <lanner/item.h>
#include <lanner/tensor.h>

#include "engine/context/given_shapes.h"
#include "run/execution.h"

namespace lanner {

/// Pointers, recorded graphs and memory that runs of one set of shapes take.
struct ReadyShapes {
  InputShapes shapes;
  Arenas arenas;
  std::unique_ptr<Execution> execution;
  /// For states on a GPU, whose two buffers change places: one for each way round, so that what was recorded
  /// with their pointers stays valid. Null until it is needed.
  std::unique_ptr<Execution> other;
  std::vector<Item> results;  ///< By output.
  std::vector<Tensor> staged; ///< By input, for a GPU: where what lies on the host is copied to.
  std::vector<Tensor>
      written; ///< By output, for a GPU: what kernels write where the result goes to the host.

  ReadyShapes(InputShapes of, std::shared_ptr<const Program> program, const Arenas& arenas);
  /// Whether a run alone tells the size of an output, or it is no tensor of numbers.
  bool is_item(std::size_t output) const;
  Place::Kind place_of(std::size_t output) const;
  /// The other execution is the one that runs from now on; inputs have to be given again.
  void turn();
  /// Lets go of values of the last run but the memory of results that is the context's own; `lent` says by
  /// output which is not.
  void rest(const std::vector<bool>& lent);
  /// Of results and copies, and what its executions keep; the arena is shared.
  std::uint64_t bytes() const;
};

/// Of one context, the current ones first. Used by one thread at a time.
class ReadyList {
public:
  ReadyShapes* current() const noexcept { return list_.empty() ? nullptr : list_.front().get(); }
  /// Makes these shapes the current ones; false where they are not here. The current ones until now rest.
  bool take(const InputShapes& shapes, const std::vector<bool>& lent);
  void add(std::unique_ptr<ReadyShapes> ready, const std::vector<bool>& lent);
  /// Lets idle ones go, those first that did not run the longest, until their number and what they hold is
  /// bounded.
  void trim(std::uint64_t max_bytes);
  /// Lets all idle ones go; false where there are none.
  bool drop_idle();
  void clear() noexcept { list_.clear(); }

private:
  std::vector<std::unique_ptr<ReadyShapes>> list_;
};

/// Tensors of several shapes to write to, the last one used first. Used by one thread at a time.
class SpareTensors {
public:
  /// One of these that nobody else holds, else a new one.
  Tensor& get(DType dtype, const Shape& shape, Device device, std::uint64_t max_bytes);
  /// Lets all but the last one used go; false where there are none.
  bool drop_idle();

private:
  std::vector<Tensor> list_;
};

} // namespace lanner
