#pragma once
// What flows through an engine: tensors, sequences of items, optionals.

#include <memory>
#include <vector>

#include <lanner/tensor.h>

namespace lanner {

/// A value at run time. Copies share memory.
struct Item {
  Item() = default;
  Item(Tensor value) : tensor(std::move(value)) {}

  Tensor tensor;                                  ///< Of a tensor.
  std::shared_ptr<const std::vector<Item>> items; ///< Of a sequence; null otherwise.
  bool absent = false;                            ///< An optional that holds nothing.

  bool is_sequence() const noexcept { return items != nullptr; }
};

} // namespace lanner
