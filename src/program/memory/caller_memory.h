#pragma once
// Callers' memory of a graph's inputs and outputs.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <lanner/device.h>
#include <lanner/dtype.h>
#include <lanner/layout.h>
#include <lanner/tensor.h>

#include "graph/storage/storage.h"
#include "graph/type/type.h"

namespace lanner {

/// How callers hold an input or output.
struct HeldStorage {
  std::optional<DType> dtype; ///< Unset: the value's own.
  Layout layout;              ///< Of any concrete shape of the value; empty is row-major.
  bool any =
      false; ///< Lowering chooses the layout; `layout` counts only for values that are not plain memory.
  friend bool operator==(const HeldStorage&, const HeldStorage&) = default;
};

/// By index of a graph's inputs and outputs. Entries beyond the end of a list have defaults: row-major, not
/// overwritable.
struct CallerMemory {
  /// An output that is written to the memory of an input.
  struct Alias {
    std::size_t output = 0, input = 0;
    bool required = true; ///< Else only where that needs no copy; otherwise the output has its own memory.
    friend bool operator==(const Alias&, const Alias&) = default;
  };
  std::vector<HeldStorage> inputs, outputs;
  std::vector<bool> overwritable; ///< Inputs that a run may overwrite after their last reader.
  std::vector<Alias> aliases;     ///< At most one per input and per output.

  const HeldStorage& input(std::size_t number) const;
  const HeldStorage& output(std::size_t number) const;
  bool may_write(std::size_t input) const { return input < overwritable.size() && overwritable[input]; }
  /// Whether a run may change the memory of any input, so that it cannot be repeated after a failure.
  bool changes_inputs() const {
    return !aliases.empty() ||
           std::find(overwritable.begin(), overwritable.end(), true) != overwritable.end();
  }
  /// Null where there is none.
  const Alias* alias_of_output(std::size_t output) const;
  const Alias* alias_of_input(std::size_t input) const;
};

/// The kernels' storage on `device` for a value of concrete type that callers hold in `held`.
Storage storage_of(const HeldStorage& held, const Type& type, Device device);

/// Whether the layout of `tensor` is that of `held`.
bool lies_as(const Tensor& tensor, const HeldStorage& held);

/// `held` with the layout of `storage` where any layout is allowed; else `held`.
HeldStorage settled(const HeldStorage& held, const Storage& storage);
/// The kernels' storage of a caller's value after lowering chose `storage`.
Storage settled_storage(const HeldStorage& held, const Storage& storage, const Type& type, Device device);

} // namespace lanner
