#pragma once
// Values of an engine's inputs and outputs: tensors, sequences of items, optionals.

#include <memory>
#include <vector>

#include <lanner/tensor.h>

namespace lanner {

/// A value at run time. Copies share memory.
struct Item {
  Item() = default;
  Item(Tensor value) : tensor(std::move(value)) {}

  Tensor tensor;                                  ///< For a tensor.
  std::shared_ptr<const std::vector<Item>> items; ///< For a sequence; null otherwise.
  bool absent = false;                            ///< An empty optional.

  bool is_sequence() const noexcept { return items != nullptr; }
};

} // namespace lanner
